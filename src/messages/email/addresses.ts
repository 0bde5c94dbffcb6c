/** Addresses as people write them: `ada@example.com` or `Ada Lovelace <ada@example.com>`. */
import { domainToASCII } from 'node:url'
import type { Address } from '../../providers/email/contract.ts'

export const longestAddress = 320

const named = /^(?:"((?:[^"\\]|\\.)*)"|([^"<>]*?))\s*<([^<>]*)>$/
// Letters of any script, dots only between others; nothing that would need quoting in an envelope.
const localPart = /^[^\s.@<>()[\]\\,;:"\p{Cc}]+(?:\.[^\s.@<>()[\]\\,;:"\p{Cc}]+)*$/u
const hostname = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/
const control = /\p{Cc}/u

/** The name and the bare address, unjudged. */
const split = (text: string): Address => {
  const match = named.exec(text.trim())
  if (!match) return { address: text.trim(), name: null }
  const name = (match[1]?.replace(/\\(.)/g, '$1') ?? match[2] ?? '').trim()
  return { address: (match[3] as string).trim(), name: name === '' ? null : name }
}

/** What stands behind the last `@` of the bare address; empty when there is none. */
export const domainPart = (text: string): string => {
  const { address } = split(text)
  const at = address.lastIndexOf('@')
  return at < 0 ? '' : address.slice(at + 1)
}

export const parseAddress = (text: string): Address | undefined => {
  const { address, name } = split(text)
  const at = address.lastIndexOf('@')
  if (at < 1 || address.length > longestAddress) return undefined
  const local = address.slice(0, at)
  if (local.length > 64 || !localPart.test(local)) return undefined
  if (!hostname.test(domainToASCII(address.slice(at + 1)))) return undefined
  if (name !== null && control.test(name)) return undefined
  return { address, name }
}

/** How addresses compare: without regard to case. */
export const comparable = (address: string): string => address.toLowerCase()
