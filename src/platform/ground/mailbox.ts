/** Addresses as people write them: `ada@example.com` or `Ada Lovelace <ada@example.com>`. */
import { domainToASCII } from 'node:url'

type Address = { address: string; name: string | null }

const longestAddress = 320

const quoted = /^"((?:[^"\\]|\\.)*)"$/
/** A fast check that matches nearly every address. It runs several times for every send. */
const plainLocal = /^[\w+-]+(?:\.[\w+-]+)*$/
// Letters of any script, with dots only between other characters. Excludes everything that needs quotes in an envelope.
const localPart = /^[^\s.@<>()[\]\\,;:"\p{Cc}]+(?:\.[^\s.@<>()[\]\\,;:"\p{Cc}]+)*$/u
const hostname = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/
/** Characters that domainToASCII drops or interprets: white space, escapes, ports, paths. */
const notInDomains = /[\s\p{Cc}@:/\\?#%[\]]/u
const control = /\p{Cc}/u
const ascii = /^[ -~]*$/

/** The name without its quotes, or undefined when it needs quotes and has none. */
const unquotedName = (text: string): string | undefined => {
  const inQuotes = quoted.exec(text)
  if (inQuotes) return (inQuotes[1] as string).replace(/\\(.)/gs, '$1').trim()
  return /["<>]/.test(text) ? undefined : text
}

/** Splits into name and address without validating them. Searches from the end, so the time is linear in the length. */
const split = (text: string): Address => {
  const trimmed = text.trim()
  const open = trimmed.lastIndexOf('<')
  const bare = { address: trimmed, name: null }
  if (open < 0 || !trimmed.endsWith('>')) return bare
  const name = unquotedName(trimmed.slice(0, open).trim())
  return name === undefined ? bare : { address: trimmed.slice(open + 1, -1).trim(), name: name || null }
}

/** The part after the last `@` of the address. Empty when there is no `@`. */
export const domainPart = (text: string): string => {
  const { address } = split(text)
  const at = address.lastIndexOf('@')
  return at < 0 ? '' : address.slice(at + 1)
}

/** The domain as it is stored: international domains in ASCII form, so that one mailbox has one address. */
const storedDomain = (domain: string): string | undefined => {
  if (hostname.test(domain) && !domain.includes('xn--')) return domain
  if (notInDomains.test(domain)) return undefined
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
  const domain = storedDomain(address.slice(at + 1))
  if (domain === undefined || (name !== null && !ascii.test(name) && control.test(name))) return undefined
  return { address: `${local}@${domain}`, name }
}

/** Addresses are compared without regard to case. */
export const comparable = (address: string): string => address.toLowerCase()

/** The comparable address of a text with or without a name. Undefined when the text is not an address. */
export const comparableAddress = (text: string): string | undefined => {
  const parsed = parseMailbox(text)
  return parsed && comparable(parsed.address)
}
