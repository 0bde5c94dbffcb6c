/** Resolves host names for outgoing requests. */
import { lookup, Resolver } from 'node:dns/promises'

/** Resolves a name to all of its addresses and their TTL in seconds. Throws when the name has no address. */
export type Resolve = (name: string) => Promise<{ addresses: string[]; ttl: number }>

type Options = {
  /** `ip` or `ip:port`. Defaults to the DNS servers that the operating system is configured with. */
  servers?: readonly string[] | undefined
  /** Uses the operating system's lookup, with its hosts file and search list. For private networks. */
  useSystemLookup?: boolean
}

const maxTtl = 60

const systemLookup: Resolve = async (name) => {
  const found = await lookup(name, { all: true })
  return { addresses: found.map(({ address }) => address), ttl: 5 }
}

/** Queries the DNS directly: the system lookup blocks a thread for as long as a customer's DNS server takes. */
const dnsQuery = (servers: readonly string[] | undefined): Resolve => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  if (servers && servers.length > 0) resolver.setServers(servers)
  return async (name) => {
    const results = await Promise.allSettled([
      resolver.resolve4(name, { ttl: true }),
      resolver.resolve6(name, { ttl: true }),
    ])
    const found = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    if (found.length === 0) throw (results[0] as PromiseRejectedResult).reason
    return {
      addresses: found.map(({ address }) => address),
      ttl: Math.min(maxTtl, ...found.map(({ ttl }) => ttl)),
    }
  }
}

export const makeResolve = ({ servers, useSystemLookup }: Options = {}): Resolve =>
  useSystemLookup && !(servers && servers.length > 0) ? systemLookup : dnsQuery(servers)

const maxCachedNames = 10_000

/** Caches results for their TTL. Concurrent lookups of one name share a single query. */
export const cached = (resolve: Resolve): ((name: string) => Promise<string[]>) => {
  const cache = new Map<string, { addresses: string[]; expiresAt: number }>()
  const pending = new Map<string, Promise<string[]>>()
  const query = async (name: string): Promise<string[]> => {
    const { addresses, ttl } = await resolve(name)
    cache.delete(name)
    if (cache.size >= maxCachedNames) cache.delete(cache.keys().next().value as string)
    // Real time: moving the development clock does not change how long a DNS result is valid.
    if (ttl > 0) cache.set(name, { addresses, expiresAt: performance.now() + ttl * 1_000 })
    return addresses
  }
  return (name) => {
    const hit = cache.get(name)
    if (hit && hit.expiresAt > performance.now()) return Promise.resolve(hit.addresses)
    let lookingUp = pending.get(name)
    if (!lookingUp) {
      lookingUp = query(name).finally(() => pending.delete(name))
      pending.set(name, lookingUp)
    }
    return lookingUp
  }
}
