/** Connection pools, one for each origin and checked address. */
import { buildConnector, Pool } from 'undici'
import { literalOf, OutgoingFault } from './check-address.ts'

type AddressPool = { pool: Pool; inFlight: number; idleSince: number }

export type PoolOptions = {
  /** For tests: an additional trusted root certificate. */
  ca?: string
  /** For tests: maps a checked public address to the local server that plays its part. */
  dial?: (address: string, port: number) => { host: string; port: number }
}

const connectTimeoutMs = 10_000
const keepAliveMs = 4_000
const sweepMs = 5_000

/** The connection failed, so nothing of the request was sent. */
export class ConnectFault extends OutgoingFault {}

const connectFault = (error: Error & { code?: string; syscall?: string }, secure: boolean): ConnectFault => {
  const message = `${error.code ?? ''} ${error.message}`.trim()
  if (error.code === 'UND_ERR_CONNECT_TIMEOUT') return new ConnectFault('timeout', message, { cause: error })
  // An error after the TCP connection is established and before the request is sent is a failed TLS handshake.
  const kind = secure && error.syscall !== 'connect' ? 'tls' : 'connection'
  return new ConnectFault(kind, message, { cause: error })
}

/** Connects to the address, whatever host the URL names. TLS still verifies the host name. */
const connectTo = (address: string, { ca, dial }: PoolOptions): buildConnector.connector => {
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    autoSelectFamily: false,
    ...(ca !== undefined && { ca }),
  })
  return (wanted, callback) => {
    const secure = wanted.protocol === 'https:'
    const port = Number(wanted.port || (secure ? 443 : 80))
    const target = dial?.(address, port) ?? { host: address, port }
    const servername = secure && literalOf(wanted.hostname) === undefined ? wanted.hostname : undefined
    const { servername: _, ...rest } = wanted
    connect(
      { ...rest, hostname: target.host, port: String(target.port), ...(servername && { servername }) },
      (...outcome) => (outcome[0] ? callback(connectFault(outcome[0], secure), null) : callback(null, outcome[1])),
    )
  }
}

export const makeAddressPools = (options: PoolOptions) => {
  /** Keyed by origin and address, so that a reused connection leads to an address that was checked. */
  const addressPools = new Map<string, AddressPool>()

  const poolFor = (origin: string, address: string): AddressPool => {
    const name = `${origin} ${address}`
    let addressPool = addressPools.get(name)
    if (!addressPool) {
      const pool = new Pool(origin, {
        connect: connectTo(address, options),
        allowH2: false,
        pipelining: 1,
        keepAliveTimeout: keepAliveMs,
        keepAliveMaxTimeout: keepAliveMs,
        // Each request has its own timeout, which covers headers and body.
        headersTimeout: 0,
        bodyTimeout: 0,
        maxHeaderSize: 16_384,
      })
      addressPool = { pool, inFlight: 0, idleSince: performance.now() }
      addressPools.set(name, addressPool)
    }
    return addressPool
  }

  const sweeping = setInterval(() => {
    const before = performance.now() - 2 * keepAliveMs
    for (const [name, addressPool] of addressPools) {
      if (addressPool.inFlight > 0 || addressPool.idleSince > before) continue
      addressPools.delete(name)
      void addressPool.pool.destroy()
    }
  }, sweepMs)
  sweeping.unref()

  const close = async (): Promise<void> => {
    clearInterval(sweeping)
    const pools = [...addressPools.values()].map(({ pool }) => pool)
    addressPools.clear()
    await Promise.all(pools.map((pool) => pool.destroy()))
  }

  return { poolFor, close }
}
