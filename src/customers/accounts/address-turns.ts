/**
 * Runs work for strangers, a few pieces at a time. Networks take turns, so that one of them cannot keep the others
 * waiting. When too many pieces wait, the newest one of the network with the most gives way to a network with fewer.
 */
import { countedNetworks } from '../../platform/ground/ip-address.ts'

type AddressTurns = <T>(address: string | null, work: () => Promise<T>) => Promise<T>

type Limits = {
  atOnce: number
  waiting: number
  /** The error of a call that finds no place, or loses it. */
  refusal: () => Error
}

type Place = { start: () => void; refuse: (error: Error) => void }

/** The lanes of one kind, the one whose turn it is first. */
type Lanes<Lane> = Map<string, Lane>

/** Sites (a /48, or an address of IPv4) take turns, and so do the networks of a site. */
type Site = Lanes<Place[]>

const waitingIn = (site: Site | undefined): number =>
  [...(site?.values() ?? [])].reduce((sum, queue) => sum + queue.length, 0)

/** The lane with the most, if it has more than `own`. */
const largerThan = <Lane>(own: number, lanes: Lanes<Lane>, size: (lane: Lane) => number): string | undefined => {
  let found: string | undefined
  let most = own
  for (const [name, lane] of lanes) {
    if (size(lane) <= most) continue
    found = name
    most = size(lane)
  }
  return found
}

export const makeAddressTurns = ({ atOnce, waiting: maxWaiting, refusal }: Limits): AddressTurns => {
  const sites: Lanes<Site> = new Map()
  let running = 0
  let waiting = 0

  const takeNext = (): Place | undefined => {
    const [first] = sites
    const [next] = first?.[1] ?? []
    if (!first || !next) return undefined
    const [siteName, site] = first
    const [name, queue] = next
    const place = queue.shift()
    waiting--
    site.delete(name)
    if (queue.length > 0) site.set(name, queue)
    sites.delete(siteName)
    if (site.size > 0) sites.set(siteName, site)
    return place
  }

  /** Takes the newest place of the largest lane. Undefined if the newcomer's own lanes are the largest. */
  const takeFromLargest = (siteName: string, name: string): Place | undefined => {
    const largest = largerThan(waitingIn(sites.get(siteName)), sites, waitingIn)
    const site = sites.get(largest ?? siteName)
    if (!site) return undefined
    const own = largest === undefined ? (site.get(name)?.length ?? 0) : 0
    const lane = largerThan(own, site, (queue) => queue.length)
    const place = lane === undefined ? undefined : site.get(lane)?.pop()
    if (lane === undefined || !place) return undefined
    waiting--
    if (site.get(lane)?.length === 0) site.delete(lane)
    if (site.size === 0) sites.delete(largest ?? siteName)
    return place
  }

  const wait = (address: string | null): Promise<void> => {
    const networks = countedNetworks(address)
    const name = networks[0].name
    const siteName = networks.at(-1)?.name ?? name
    if (waiting >= maxWaiting) {
      const given = takeFromLargest(siteName, name)
      if (!given) return Promise.reject(refusal())
      given.refuse(refusal())
    }
    return new Promise((start, refuse) => {
      const site: Site = sites.get(siteName) ?? new Map()
      const queue = site.get(name) ?? []
      sites.set(siteName, site.set(name, queue))
      queue.push({ start, refuse })
      waiting++
    })
  }

  return async (address, work) => {
    if (running >= atOnce) await wait(address)
    else running++
    try {
      return await work()
    } finally {
      const next = takeNext()
      if (next) next.start()
      else running--
    }
  }
}
