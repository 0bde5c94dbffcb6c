import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { getDomain } from 'tldts'

const hostname = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** DNS allows 253 characters. The rest is reserved for the prefixes of the domain's records. */
export const longestName = 230

/** Characters that a URL parser reads as part of something else: an address, a port, an escape or a path. */
const notInNames = /[\s@:/\\?#%[\]]/

/**
 * Normalises a name to its DNS form: lower case, punycode, no trailing dot. Returns undefined for a name that nobody
 * can own, such as a public suffix. Private suffixes (`github.io`) are accepted, because they have an owner who can
 * verify them.
 */
export const normaliseName = (text: string): string | undefined => {
  const bare = text.trim().replace(/\.$/, '')
  if (bare === '' || notInNames.test(bare)) return undefined
  const name = domainToASCII(bare)
  if (name.length > longestName || !hostname.test(name) || isIP(name) !== 0) return undefined
  return getDomain(name, { allowPrivateDomains: false }) === null ? undefined : name
}

const plain = /^[a-z0-9.-]+$/

/** Normalises the domain of a `from` address for lookups. Invalid names are only lower-cased and match no domain. */
export const lookupName = (text: string): string => {
  const bare = text.trim().replace(/\.$/, '').toLowerCase()
  // This runs before every send, and nearly every name is already plain ASCII.
  if (plain.test(bare) || notInNames.test(bare)) return bare
  return domainToASCII(bare) || bare
}

/** The service's own domain and all its subdomains, including the sandbox hosts. */
export const isReserved = (name: string, serviceDomain: string): boolean => {
  const own = serviceDomain.toLowerCase()
  return name === own || name.endsWith(`.${own}`)
}
