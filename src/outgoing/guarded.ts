/**
 * Sends requests to customer-supplied URLs. The agent resolves a host name once, checks every address it has, and
 * connects to an address that it checked. It never resolves the name again between the check and the connection, so a
 * changed DNS record cannot redirect the request. It returns redirects to the caller and does not follow them.
 */
import { buildConnector, type Dispatcher, Pool } from 'undici'
import { assertNotInTransaction } from '../db/pool.ts'
import { checkUrl, literalOf, mayDial, NotAllowed, OutgoingFault } from './check-address.ts'
import { cached, makeResolve, type Resolve } from './resolve.ts'

export { NotAllowed, OutgoingFault } from './check-address.ts'

export type OutgoingRequest = {
  method: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string | Buffer
  /** Covers name resolution, the connection, the headers and the returned part of the body. */
  timeoutMs: number
  /** Maximum size of the returned body. The agent does not read further and closes the connection. */
  maxBytes: number
  signal?: AbortSignal
}

export type OutgoingResponse = {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  truncated: boolean
}

export interface GuardedAgent {
  /** Resolves with the response, whatever its status. Throws an OutgoingFault, or the reason of the signal. */
  request(url: string | URL, request: OutgoingRequest): Promise<OutgoingResponse>
  /** Checks the text of the URL only. Throws NotAllowed. */
  checkUrl(text: string): URL
  /** Checks the URL and every address its host currently has. Throws NotAllowed, or an OutgoingFault of kind `dns`. */
  judge(text: string): Promise<URL>
  close(): Promise<void>
}

export type GuardedAgentOptions = {
  /** Allows plain HTTP and private hosts. Metadata and link-local addresses stay blocked. */
  allowInsecure: boolean
  resolver?: Resolve
  dnsServers?: readonly string[]
  /** For tests: an additional trusted root certificate. */
  ca?: string
  /** For tests: maps a checked public address to the local server that plays its part. */
  dial?: (address: string, port: number) => { host: string; port: number }
}

type AddressPool = { pool: Pool; inFlight: number; idleSince: number }

/** A connection that takes longer than this is abandoned while there is another address to try. */
const slowConnectMs = 3_000
const connectTimeoutMs = 10_000
const checkTimeoutMs = 3_000
const keepAliveMs = 4_000
const sweepMs = 5_000
const maxAddresses = 4

class ConnectFault extends OutgoingFault {}

const connectFault = (error: Error & { code?: string; syscall?: string }, secure: boolean): ConnectFault => {
  const message = `${error.code ?? ''} ${error.message}`.trim()
  if (error.code === 'UND_ERR_CONNECT_TIMEOUT') return new ConnectFault('timeout', message, { cause: error })
  // An error after the TCP connection is established and before the request is sent is a failed TLS handshake.
  const kind = secure && error.syscall !== 'connect' ? 'tls' : 'connection'
  return new ConnectFault(kind, message, { cause: error })
}

const faultOf = (error: Error & { code?: string }): OutgoingFault =>
  error instanceof OutgoingFault
    ? error
    : new OutgoingFault('connection', `${error.code ?? ''} ${error.message}`.trim(), { cause: error })

/** IPv4 first, because machines without IPv6 are more common than machines without IPv4. */
const inOrder = (addresses: string[]): string[] =>
  [...addresses].sort((a, b) => Number(a.includes(':')) - Number(b.includes(':'))).slice(0, maxAddresses)

const contentLength = (headers: Record<string, string | string[] | undefined>): number | undefined => {
  const value = headers['content-length']
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined
}

/** How the timers and the abort signal of a request act on it. */
type ExchangeControl = {
  fail(error: Error): void
  /** Whether the request has a connection. */
  isStarted(): boolean
  /** Resolves with the truncated body when `maxBytes` have arrived. Returns false when the response is incomplete. */
  finishIfFull(): boolean
}

/** Sends one request through a pool, and aborts it once the response is complete or `maxBytes` have arrived. */
const exchange = (
  pool: Pool,
  options: Dispatcher.DispatchOptions,
  { maxBytes }: OutgoingRequest,
  onCreated: (control: ExchangeControl) => void,
): Promise<OutgoingResponse> =>
  new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let abortReason: Error | undefined
    let response: OutgoingResponse | undefined
    let receivedBytes = 0
    const chunks: Buffer[] = []

    const abort = (reason: Error): void => {
      abortReason ??= reason
      controller?.abort(reason)
    }
    const finish = (truncated: boolean): void => {
      if (response) resolve({ ...response, body: Buffer.concat(chunks), truncated })
    }
    const finishTruncated = (): void => {
      finish(true)
      abort(new Error('response body exceeds the limit'))
    }

    onCreated({
      fail: (error) => {
        reject(error)
        abort(error)
      },
      isStarted: () => controller !== undefined,
      finishIfFull: () => {
        if (!response || receivedBytes < maxBytes) return false
        finishTruncated()
        return true
      },
    })

    pool.dispatch(options, {
      onRequestStart: (started) => {
        controller = started
        // Aborted while it waited for a connection, so it must not be sent.
        if (abortReason) started.abort(abortReason)
      },
      onResponseStart: (_, status, headers) => {
        if (status < 200 || abortReason) return
        response = { status, headers, body: Buffer.alloc(0), truncated: false }
      },
      onResponseData: (_, chunk) => {
        if (abortReason) return
        const remaining = maxBytes - receivedBytes
        if (remaining > 0) chunks.push(Buffer.from(chunk.subarray(0, remaining)))
        receivedBytes += chunk.length
        const expected = contentLength(response?.headers ?? {}) ?? 0
        if (receivedBytes > maxBytes || (receivedBytes === maxBytes && expected > receivedBytes)) finishTruncated()
      },
      onResponseEnd: () => finish(false),
      onResponseError: (_, error) => reject(faultOf(error)),
    })
  })

/** Name resolution counts toward the timeout, because the customer controls the DNS server. */
const withTimeout = async <T>(work: Promise<T>, ms: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new OutgoingFault('timeout', 'name resolution timed out')), ms)
  })
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer))
}

export const makeGuardedAgent = (options: GuardedAgentOptions): GuardedAgent => {
  const { allowInsecure, dnsServers, dial, ca } = options
  const resolve = cached(options.resolver ?? makeResolve({ servers: dnsServers, useSystemLookup: allowInsecure }))
  /** Keyed by origin and checked address, so that a reused connection leads to an address that was checked. */
  const addressPools = new Map<string, AddressPool>()

  const addressesOf = async (url: URL): Promise<string[]> => {
    const literal = literalOf(url.hostname)
    if (literal !== undefined) return [literal]
    const found = await resolve(url.hostname).catch((error: Error) => {
      throw new OutgoingFault('dns', `${url.hostname}: ${error.message}`, { cause: error })
    })
    // A single forbidden address rejects the name: such a record is an attempt to reach that address.
    const refused = found.find((address) => !mayDial(address, allowInsecure))
    if (refused !== undefined) throw new NotAllowed(`${url.hostname} resolves to ${refused}, which is not allowed`)
    if (found.length === 0) throw new OutgoingFault('dns', `${url.hostname} has no address`)
    return inOrder(found)
  }

  const connectTo = (address: string): buildConnector.connector => {
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

  const poolFor = (origin: string, address: string): AddressPool => {
    const name = `${origin} ${address}`
    let addressPool = addressPools.get(name)
    if (!addressPool) {
      const pool = new Pool(origin, {
        connect: connectTo(address),
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

  const sendTo = async (
    url: URL,
    address: string,
    request: OutgoingRequest,
    budget: { remainingMs: () => number; isLast: boolean },
  ): Promise<OutgoingResponse> => {
    const addressPool = poolFor(url.origin, address)
    addressPool.inFlight++
    const cleanups: (() => void)[] = []
    const arm = (control: ExchangeControl): void => {
      const deadline = setTimeout(() => {
        if (!control.finishIfFull()) control.fail(new OutgoingFault('timeout', 'request timed out'))
      }, budget.remainingMs())
      cleanups.push(() => clearTimeout(deadline))
      if (!budget.isLast) {
        const slowConnect = setTimeout(() => {
          if (!control.isStarted()) control.fail(new ConnectFault('timeout', 'connection timed out'))
        }, slowConnectMs)
        cleanups.push(() => clearTimeout(slowConnect))
      }
      const { signal } = request
      if (!signal) return
      const onAbort = () => control.fail(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      cleanups.push(() => signal.removeEventListener('abort', onAbort))
    }
    try {
      return await exchange(
        addressPool.pool,
        {
          path: `${url.pathname}${url.search}`,
          method: request.method,
          headers: request.headers ?? {},
          body: request.body ?? null,
        },
        request,
        arm,
      )
    } finally {
      for (const cleanup of cleanups) cleanup()
      addressPool.inFlight--
      addressPool.idleSince = performance.now()
    }
  }

  return {
    checkUrl: (text) => checkUrl(text, allowInsecure),

    judge: async (text) => {
      assertNotInTransaction('a DNS query')
      const url = checkUrl(text, allowInsecure)
      await withTimeout(addressesOf(url), checkTimeoutMs)
      return url
    },

    request: async (target, request) => {
      assertNotInTransaction('a request to a customer URL')
      const startedAt = performance.now()
      const remainingMs = () => Math.max(1, request.timeoutMs - (performance.now() - startedAt))
      const url = checkUrl(typeof target === 'string' ? target : target.href, allowInsecure)
      request.signal?.throwIfAborted()
      const addresses = await withTimeout(addressesOf(url), remainingMs())
      for (const [i, address] of addresses.entries()) {
        request.signal?.throwIfAborted()
        const isLast = i === addresses.length - 1
        try {
          return await sendTo(url, address, request, { remainingMs, isLast })
        } catch (error) {
          // Nothing was sent yet, so trying the next address cannot send the request twice.
          const canTryNext = error instanceof ConnectFault && !isLast && remainingMs() > 1
          if (!canTryNext) throw error
        }
      }
      throw new OutgoingFault('connection', 'no address accepted a connection')
    },

    close: async () => {
      clearInterval(sweeping)
      const pools = [...addressPools.values()].map(({ pool }) => pool)
      addressPools.clear()
      await Promise.all(pools.map((pool) => pool.destroy()))
    },
  }
}
