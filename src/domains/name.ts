import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { getDomain } from 'tldts'

const hostname = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Leaves room for the names of its records within the 253 characters of DNS. */
export const longestName = 230

/** What a URL parser would read as more than a name: an address, a port, an escape, a path. */
const notOfNames = /[\s@:/\\?#%[\]]/

/**
 * The name as DNS holds it: lower case, punycode, no dot at the end; or undefined for what nobody can own. Suffixes
 * that a company lets others register under (`github.io`) are names with an owner, who can prove it, and are taken.
 */
export const normaliseName = (text: string): string | undefined => {
  const bare = text.trim().replace(/\.$/, '')
  if (bare === '' || notOfNames.test(bare)) return undefined
  const name = domainToASCII(bare)
  if (name.length > longestName || !hostname.test(name) || isIP(name) !== 0) return undefined
  return getDomain(name, { allowPrivateDomains: false }) === null ? undefined : name
}

const plain = /^[a-z0-9.-]+$/

/** How a `from` names its domain; what is no name at all is only lower-cased, and matches none. */
export const lookupName = (text: string): string => {
  const bare = text.trim().replace(/\.$/, '').toLowerCase()
  // Nearly every name is plain already, and this runs before every send.
  if (plain.test(bare) || notOfNames.test(bare)) return bare
  return domainToASCII(bare) || bare
}

/** The service's own domain and every name under it, the sandbox hosts among them. */
export const isReserved = (name: string, serviceDomain: string): boolean => {
  const own = serviceDomain.toLowerCase()
  return name === own || name.endsWith(`.${own}`)
}
