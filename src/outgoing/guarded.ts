/**
 * The one way out to addresses that customers name. A name is resolved once, every address it has is judged, and a
 * judged one is dialled: between judging and dialling nobody is asked again. Redirects are answers, never followed.
 */
import { buildConnector, type Dispatcher, Pool } from 'undici'
import { assertNotInTransaction } from '../db/pool.ts'
import { judgeUrl, literalOf, mayDial, NotAllowed, OutgoingFault } from './judge.ts'
import { makeResolve, type Resolve, remembering } from './resolve.ts'

export { NotAllowed, OutgoingFault } from './judge.ts'

export type OutgoingRequest = {
  method: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string | Buffer
  /** Covers names, connection, headers and the kept part of the body together. */
  timeoutMs: number
  /** Of the body; what comes after them is never read, and the connection is given up. */
  maxBytes: number
  signal?: AbortSignal
}

export type OutgoingAnswer = {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  truncated: boolean
}

export interface GuardedAgent {
  /** Any status is an answer. Throws an OutgoingFault, or the reason of the signal. */
  request(url: string | URL, request: OutgoingRequest): Promise<OutgoingAnswer>
  /** Judges the text alone. Throws NotAllowed. */
  judgeUrl(text: string): URL
  /** Judges the text and every address the name has now. Throws NotAllowed, or a fault when the DNS does not tell. */
  judge(text: string): Promise<URL>
  close(): Promise<void>
}

export type GuardedAgentOptions = {
  /** Allows plain http and private hosts; metadata and link-local addresses stay closed. */
  allowInsecure: boolean
  resolver?: Resolve
  dnsServers?: readonly string[]
  /** Further roots to trust, and where a judged address is really to be found: for tests of what is public. */
  ca?: string
  dial?: (address: string, port: number) => { host: string; port: number }
}

type Lane = { pool: Pool; inFlight: number; idleSince: number }

/** Another address is tried when a connection takes this long and there is one left. */
const slowConnectMs = 3_000
const connectTimeoutMs = 10_000
const judgeTimeoutMs = 3_000
const keepAliveMs = 4_000
const sweepMs = 5_000
const maxAddresses = 4

class ConnectFault extends OutgoingFault {}

const connectFault = (error: Error & { code?: string; syscall?: string }, secure: boolean): ConnectFault => {
  const told = `${error.code ?? ''} ${error.message}`.trim()
  if (error.code === 'UND_ERR_CONNECT_TIMEOUT') return new ConnectFault('timeout', told, { cause: error })
  // Whatever fails after the connection stands and before the request is sent, the handshake failed.
  const kind = secure && error.syscall !== 'connect' ? 'tls' : 'connection'
  return new ConnectFault(kind, told, { cause: error })
}

const faultOf = (error: Error & { code?: string }): OutgoingFault =>
  error instanceof OutgoingFault
    ? error
    : new OutgoingFault('connection', `${error.code ?? ''} ${error.message}`.trim(), { cause: error })

/** IPv4 first: a machine without IPv6 is still more common than one without IPv4. */
const inOrder = (addresses: string[]): string[] =>
  [...addresses].sort((a, b) => Number(a.includes(':')) - Number(b.includes(':'))).slice(0, maxAddresses)

const lengthOf = (headers: Record<string, string | string[] | undefined>): number | undefined => {
  const held = headers['content-length']
  return typeof held === 'string' && /^\d{1,15}$/.test(held) ? Number(held) : undefined
}

/** One request on one lane: collects the answer, and lets go of the connection when it has enough. */
const exchange = (
  pool: Pool,
  options: Dispatcher.DispatchOptions,
  { maxBytes }: OutgoingRequest,
  given: { up: (fail: (error: Error) => void, started: () => boolean, enough: () => boolean) => void },
): Promise<OutgoingAnswer> =>
  new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let over: Error | undefined
    let answer: OutgoingAnswer | undefined
    let held = 0
    const chunks: Buffer[] = []

    const letGo = (reason: Error): void => {
      over ??= reason
      controller?.abort(reason)
    }
    const finish = (truncated: boolean): void => {
      if (answer) resolve({ ...answer, body: Buffer.concat(chunks), truncated })
    }

    given.up(
      (error) => {
        reject(error)
        letGo(error)
      },
      () => controller !== undefined,
      // All that is wanted has come, and only the end of the body has not.
      () => {
        if (!answer || held < maxBytes) return false
        finish(true)
        letGo(new Error('the rest is not wanted'))
        return true
      },
    )

    pool.dispatch(options, {
      onRequestStart: (started) => {
        controller = started
        // Given up while it waited for its connection: it must not be sent any more.
        if (over) started.abort(over)
      },
      onResponseStart: (_, status, headers) => {
        if (status < 200 || over) return
        answer = { status, headers, body: Buffer.alloc(0), truncated: false }
      },
      onResponseData: (_, chunk) => {
        if (over) return
        const room = maxBytes - held
        if (room > 0) chunks.push(Buffer.from(chunk.subarray(0, room)))
        held += chunk.length
        if (held <= maxBytes && !(held === maxBytes && (lengthOf(answer?.headers ?? {}) ?? 0) > held)) return
        finish(true)
        letGo(new Error('the rest is not wanted'))
      },
      onResponseEnd: () => finish(false),
      onResponseError: (_, error) => reject(faultOf(error)),
    })
  })

export const makeGuardedAgent = (options: GuardedAgentOptions): GuardedAgent => {
  const { allowInsecure, dnsServers, dial, ca } = options
  const resolve = remembering(options.resolver ?? makeResolve({ servers: dnsServers, asMachine: allowInsecure }))
  /** By origin and judged address: a kept connection leads where it was judged to lead. */
  const lanes = new Map<string, Lane>()

  const addressesOf = async (url: URL): Promise<string[]> => {
    const literal = literalOf(url.hostname)
    if (literal !== undefined) return [literal]
    const found = await resolve(url.hostname).catch((error: Error) => {
      throw new OutgoingFault('dns', `${url.hostname}: ${error.message}`, { cause: error })
    })
    // One bad address spoils the name: whoever answers so means us to dial it.
    const refused = found.find((address) => !mayDial(address, allowInsecure))
    if (refused !== undefined) throw new NotAllowed(`${url.hostname} resolves to ${refused}`)
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
      const place = dial?.(address, port) ?? { host: address, port }
      const servername = secure && literalOf(wanted.hostname) === undefined ? wanted.hostname : undefined
      const { servername: _, ...rest } = wanted
      connect(
        { ...rest, hostname: place.host, port: String(place.port), ...(servername && { servername }) },
        (...outcome) => (outcome[0] ? callback(connectFault(outcome[0], secure), null) : callback(null, outcome[1])),
      )
    }
  }

  const laneTo = (origin: string, address: string): Lane => {
    const name = `${origin} ${address}`
    let lane = lanes.get(name)
    if (!lane) {
      const pool = new Pool(origin, {
        connect: connectTo(address),
        allowH2: false,
        pipelining: 1,
        keepAliveTimeout: keepAliveMs,
        keepAliveMaxTimeout: keepAliveMs,
        // The budget of each request covers these.
        headersTimeout: 0,
        bodyTimeout: 0,
        maxHeaderSize: 16_384,
      })
      lane = { pool, inFlight: 0, idleSince: performance.now() }
      lanes.set(name, lane)
    }
    return lane
  }

  const sweeping = setInterval(() => {
    const before = performance.now() - 2 * keepAliveMs
    for (const [name, lane] of lanes) {
      if (lane.inFlight > 0 || lane.idleSince > before) continue
      lanes.delete(name)
      void lane.pool.destroy()
    }
  }, sweepMs)
  sweeping.unref()

  const ask = async (
    url: URL,
    address: string,
    request: OutgoingRequest,
    budget: { left: () => number; last: boolean },
  ): Promise<OutgoingAnswer> => {
    const lane = laneTo(url.origin, address)
    lane.inFlight++
    const ends: (() => void)[] = []
    try {
      return await exchange(
        lane.pool,
        {
          path: `${url.pathname}${url.search}`,
          method: request.method,
          headers: request.headers ?? {},
          body: request.body ?? null,
        },
        request,
        {
          up: (fail, started, enough) => {
            const whole = setTimeout(() => {
              if (!enough()) fail(new OutgoingFault('timeout', 'no answer in time'))
            }, budget.left())
            ends.push(() => clearTimeout(whole))
            if (!budget.last) {
              const slow = setTimeout(() => {
                if (!started()) fail(new ConnectFault('timeout', 'no connection in time'))
              }, slowConnectMs)
              ends.push(() => clearTimeout(slow))
            }
            const { signal } = request
            if (!signal) return
            const onAbort = () => fail(signal.reason)
            signal.addEventListener('abort', onAbort, { once: true })
            ends.push(() => signal.removeEventListener('abort', onAbort))
          },
        },
      )
    } finally {
      for (const end of ends) end()
      lane.inFlight--
      lane.idleSince = performance.now()
    }
  }

  /** The names of a stranger's server are part of the budget too. */
  const inTime = async <T>(work: Promise<T>, ms: number): Promise<T> => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new OutgoingFault('timeout', 'the name took too long')), ms)
    })
    return Promise.race([work, late]).finally(() => clearTimeout(timer))
  }

  return {
    judgeUrl: (text) => judgeUrl(text, allowInsecure),

    judge: async (text) => {
      assertNotInTransaction('a question to the DNS')
      const url = judgeUrl(text, allowInsecure)
      await inTime(addressesOf(url), judgeTimeoutMs)
      return url
    },

    request: async (target, request) => {
      assertNotInTransaction('a request to an address of a customer')
      const started = performance.now()
      const left = () => Math.max(1, request.timeoutMs - (performance.now() - started))
      const url = judgeUrl(typeof target === 'string' ? target : target.href, allowInsecure)
      request.signal?.throwIfAborted()
      const addresses = await inTime(addressesOf(url), left())
      for (const [i, address] of addresses.entries()) {
        request.signal?.throwIfAborted()
        const last = i === addresses.length - 1
        try {
          return await ask(url, address, request, { left, last })
        } catch (error) {
          // Nothing was sent yet, so the next address may be tried.
          const next = error instanceof ConnectFault && !last && left() > 1
          if (!next) throw error
        }
      }
      throw new OutgoingFault('connection', 'no address answered')
    },

    close: async () => {
      clearInterval(sweeping)
      const pools = [...lanes.values()].map(({ pool }) => pool)
      lanes.clear()
      await Promise.all(pools.map((pool) => pool.destroy()))
    },
  }
}
