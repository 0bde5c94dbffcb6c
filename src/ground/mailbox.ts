/** Addresses as people write them: `ada@example.com` or `Ada Lovelace <ada@example.com>`. */
import { domainToASCII } from 'node:url'

type Address = { address: string; name: string | null }

const longestAddress = 320

const quoted = /^"((?:[^"\\]|\\.)*)"$/
/** Nearly every address is plain, and this runs several times for every send. */
const plainLocal = /^[\w+-]+(?:\.[\w+-]+)*$/
// Letters of any script, dots only between others; nothing that would need quoting in an envelope.
const localPart = /^[^\s.@<>()[\]\\,;:"\p{Cc}]+(?:\.[^\s.@<>()[\]\\,;:"\p{Cc}]+)*$/u
const hostname = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/
/** What a URL parser drops or reads as more than a name: white space, an escape, a port, a path. */
const notOfNames = /[\s\p{Cc}@:/\\?#%[\]]/u
const control = /\p{Cc}/u
const ascii = /^[ -~]*$/

/** The name as it was meant, or undefined for what needs quotes and has none. */
const nameIn = (text: string): string | undefined => {
  const inQuotes = quoted.exec(text)
  if (inQuotes) return (inQuotes[1] as string).replace(/\\(.)/gs, '$1').trim()
  return /["<>]/.test(text) ? undefined : text
}

/** The name and the bare address, unjudged. Looked for from the end, so that no text costs more than its length. */
const split = (text: string): Address => {
  const written = text.trim()
  const open = written.lastIndexOf('<')
  const bare = { address: written, name: null }
  if (open < 0 || !written.endsWith('>')) return bare
  const name = nameIn(written.slice(0, open).trim())
  return name === undefined ? bare : { address: written.slice(open + 1, -1).trim(), name: name || null }
}

/** What stands behind the last `@` of the bare address; empty when there is none. */
export const domainPart = (text: string): string => {
  const { address } = split(text)
  const at = address.lastIndexOf('@')
  return at < 0 ? '' : address.slice(at + 1)
}

/** The domain as it is kept: as given, or in its ASCII form where it has another, so that one mailbox has one name. */
const keptDomain = (domain: string): string | undefined => {
  if (hostname.test(domain) && !domain.includes('xn--')) return domain
  if (notOfNames.test(domain)) return undefined
  const name = domainToASCII(domain)
  if (!hostname.test(name)) return undefined
  return ascii.test(domain) ? domain : name
}

export const parseMailbox = (text: string): Address | undefined => {
  const { address, name } = split(text)
  const at = address.lastIndexOf('@')
  if (at < 1 || address.length > longestAddress) return undefined
  const local = address.slice(0, at)
  if (local.length > 64 || (!plainLocal.test(local) && !localPart.test(local))) return undefined
  const domain = keptDomain(address.slice(at + 1))
  if (domain === undefined || (name !== null && !ascii.test(name) && control.test(name))) return undefined
  return { address: `${local}@${domain}`, name }
}

/** How addresses compare: without regard to case. */
export const comparable = (address: string): string => address.toLowerCase()

/** An address as it is compared, from however it was written; undefined for what no mail can be sent to. */
export const comparableIn = (text: string): string | undefined => {
  const parsed = parseMailbox(text)
  return parsed && comparable(parsed.address)
}
