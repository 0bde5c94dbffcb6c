/** Reads a published DKIM key as receivers do: RFC 6376, sections 3.2 and 3.6.1. */

type Tags = ReadonlyMap<string, string>

/**
 * Parses the tags in order and drops all white space, which is not significant: a long key is often pasted in pieces.
 * Names and values are case-sensitive. Returns undefined for text that is not a tag list. A duplicate tag makes the
 * whole record invalid.
 */
const tagsOf = (text: string): Tags | undefined => {
  const tags = new Map<string, string>()
  for (const piece of text.replace(/[ \t\r\n]+/g, '').split(';')) {
    if (piece === '') continue
    const [, name, value] = /^([A-Za-z]\w*)=(.*)$/s.exec(piece) ?? []
    if (name === undefined || value === undefined || tags.has(name)) return undefined
    tags.set(name, value)
  }
  return tags
}

/** Whether a colon-separated list contains one of the words. A missing tag allows everything. */
const allows = (list: string | undefined, ...words: string[]): boolean =>
  list === undefined || list.split(':').some((word) => words.includes(word))

/** The version tag is optional. Where it is present it must come first. */
const hasValidVersion = (tags: Tags): boolean =>
  !tags.has('v') || (tags.keys().next().value === 'v' && tags.get('v') === 'DKIM1')

/**
 * Whether mail signed with the key passes under the published record. An empty `p=` means that the key was revoked.
 * Flags, notes and unknown tags are ignored, including the testing flag (`t=y`): the key is published, which is what
 * verification needs.
 */
export const publishesKey = (published: string, publicKey: string): boolean => {
  const tags = tagsOf(published)
  return (
    tags !== undefined &&
    publicKey !== '' &&
    tags.get('p') === publicKey &&
    hasValidVersion(tags) &&
    (tags.get('k') ?? 'rsa') === 'rsa' &&
    allows(tags.get('h'), 'sha256') &&
    allows(tags.get('s'), '*', 'email')
  )
}

/** The public key in a DKIM record that this service generated. */
export const keyIn = (record: string): string => tagsOf(record)?.get('p') ?? ''
