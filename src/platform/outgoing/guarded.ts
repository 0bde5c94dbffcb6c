/**
 * Sends requests to customer-supplied URLs. The agent resolves a host name once, checks every address it has, and
 * connects to an address that it checked. It never resolves the name again between the check and the connection, so a
 * changed DNS record cannot redirect the request. It returns redirects to the caller and does not follow them.
 */
import { assertNotInTransaction } from '../db/pool.ts'
import { withDeadline } from '../ground/with-deadline.ts'
import { ConnectFault, makeAddressPools, type PoolOptions } from './address-pools.ts'
import { checkUrl, literalOf, mayDial, NotAllowedFault, OutgoingFault } from './check-address.ts'
import { type ExchangeControl, exchange, type OutgoingRequest, type OutgoingResponse } from './exchange.ts'
import { cached, makeResolve, type Resolve } from './resolve.ts'

export { NotAllowedFault, OutgoingFault } from './check-address.ts'

export type GuardedAgentOptions = PoolOptions & {
  /** Allows plain HTTP and private hosts. Metadata and link-local addresses stay blocked. */
  allowInsecure: boolean
  resolver?: Resolve
  dnsServers?: readonly string[]
}

/** A connection that takes longer than this is abandoned while there is another address to try. */
const slowConnectMs = 3_000
const checkTimeoutMs = 3_000
const maxAddresses = 4

/** IPv4 first, because machines without IPv6 are more common than machines without IPv4. */
const inOrder = (addresses: string[]): string[] =>
  [...addresses].sort((a, b) => Number(a.includes(':')) - Number(b.includes(':'))).slice(0, maxAddresses)

/** Name resolution counts toward the timeout, because the customer controls the DNS server. */
const resolvedWithin = <T>(ms: number, work: Promise<T>): Promise<T> =>
  withDeadline(ms, work, () => {
    throw new OutgoingFault('timeout', 'name resolution timed out')
  })

export const makeGuardedAgent = (options: GuardedAgentOptions) => {
  const { allowInsecure, dnsServers } = options
  const resolve = cached(options.resolver ?? makeResolve({ servers: dnsServers, useSystemLookup: allowInsecure }))
  const pools = makeAddressPools(options)

  const addressesOf = async (url: URL): Promise<string[]> => {
    const literal = literalOf(url.hostname)
    if (literal !== undefined) return [literal]
    const found = await resolve(url.hostname).catch((error: Error) => {
      throw new OutgoingFault('dns', `${url.hostname}: ${error.message}`, { cause: error })
    })
    // A single forbidden address rejects the name: such a record is an attempt to reach that address.
    const refused = found.find((address) => !mayDial(address, allowInsecure))
    if (refused !== undefined) {
      const onlyInsecure = found.every((address) => mayDial(address, true))
      throw new NotAllowedFault(`${url.hostname} resolves to ${refused}, which is not allowed`, onlyInsecure)
    }
    if (found.length === 0) throw new OutgoingFault('dns', `${url.hostname} has no address`)
    return inOrder(found)
  }

  const sendTo = async (
    url: URL,
    address: string,
    request: OutgoingRequest,
    budget: { remainingMs: () => number; isLast: boolean },
  ): Promise<OutgoingResponse> => {
    const addressPool = pools.poolFor(url.origin, address)
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
    /** Checks the text of the URL only. Throws NotAllowedFault. */
    checkUrl: (text: string): URL => checkUrl(text, allowInsecure),

    /** Checks the URL and every current address of its host. Throws NotAllowedFault, or an OutgoingFault (`dns`, `timeout`). */
    check: async (text: string): Promise<URL> => {
      assertNotInTransaction('a DNS query')
      const url = checkUrl(text, allowInsecure)
      await resolvedWithin(checkTimeoutMs, addressesOf(url))
      return url
    },

    /** Resolves with the response, whatever its status. Throws an OutgoingFault, or the reason of the signal. */
    request: async (target: string | URL, request: OutgoingRequest): Promise<OutgoingResponse> => {
      assertNotInTransaction('a request to a customer URL')
      const startedAt = performance.now()
      const remainingMs = () => Math.max(1, request.timeoutMs - (performance.now() - startedAt))
      const url = checkUrl(typeof target === 'string' ? target : target.href, allowInsecure)
      request.signal?.throwIfAborted()
      const addresses = await resolvedWithin(remainingMs(), addressesOf(url))
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

    close: pools.close,
  }
}

export type GuardedAgent = ReturnType<typeof makeGuardedAgent>
