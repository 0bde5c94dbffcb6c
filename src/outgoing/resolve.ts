/** Names to addresses, for requests that leave the service. */
import { lookup, Resolver } from 'node:dns/promises'

/** Every address of a name and for how many seconds they hold; throws when there is none. */
export type Resolve = (name: string) => Promise<{ addresses: string[]; ttl: number }>

type Options = {
  /** `ip` or `ip:port`; absent: those of the machine. */
  servers?: readonly string[] | undefined
  /** Asks as the machine itself does, hosts file and search list included. For a private network of one's own. */
  asMachine?: boolean
}

const longestTtl = 60

const byMachine: Resolve = async (name) => {
  const found = await lookup(name, { all: true })
  return { addresses: found.map(({ address }) => address), ttl: 5 }
}

/** Asks the DNS directly: the machine's own way holds a thread for as long as a stranger's server takes. */
const byDns = (servers: readonly string[] | undefined): Resolve => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  if (servers && servers.length > 0) resolver.setServers(servers)
  return async (name) => {
    const asked = await Promise.allSettled([
      resolver.resolve4(name, { ttl: true }),
      resolver.resolve6(name, { ttl: true }),
    ])
    const found = asked.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (found.length === 0) throw (asked[0] as PromiseRejectedResult).reason
    return {
      addresses: found.map(({ address }) => address),
      ttl: Math.min(longestTtl, ...found.map(({ ttl }) => ttl)),
    }
  }
}

export const makeResolve = ({ servers, asMachine }: Options = {}): Resolve =>
  asMachine && !(servers && servers.length > 0) ? byMachine : byDns(servers)

const maxCopies = 10_000

/** Keeps answers for as long as they hold, and lets those who ask at once share one question. */
export const remembering = (resolve: Resolve): ((name: string) => Promise<string[]>) => {
  const copies = new Map<string, { addresses: string[]; until: number }>()
  const asking = new Map<string, Promise<string[]>>()
  const ask = async (name: string): Promise<string[]> => {
    const { addresses, ttl } = await resolve(name)
    copies.delete(name)
    if (copies.size >= maxCopies) copies.delete(copies.keys().next().value as string)
    // Real time: the dev clock does not move what the DNS promised.
    if (ttl > 0) copies.set(name, { addresses, until: performance.now() + ttl * 1_000 })
    return addresses
  }
  return (name) => {
    const copy = copies.get(name)
    if (copy && copy.until > performance.now()) return Promise.resolve(copy.addresses)
    let question = asking.get(name)
    if (!question) {
      question = ask(name).finally(() => asking.delete(name))
      asking.set(name, question)
    }
    return question
  }
}
