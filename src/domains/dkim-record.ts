/** Reads a published DKIM key as receivers do: RFC 6376, sections 3.2 and 3.6.1. */

type Tags = ReadonlyMap<string, string>

/**
 * The tags in their order, without the spaces that mean nothing in them: a long key is often pasted in pieces. Case
 * counts. Undefined where the text is no list of tags or says one of them twice, which spoils all of it.
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

/** A list of words, of which one must be there; without the tag everything is allowed. */
const allows = (list: string | undefined, ...words: string[]): boolean =>
  list === undefined || list.split(':').some((word) => words.includes(word))

/** Who writes a version writes it first. */
const isOfVersion = (tags: Tags): boolean =>
  !tags.has('v') || (tags.keys().next().value === 'v' && tags.get('v') === 'DKIM1')

/**
 * Whether mail signed with the key passes under the published record. An empty key is a withdrawn one. Flags, notes
 * and unknown tags are the owner's own affair, the flag for testing (`t=y`) too: the key is there, and proves as much.
 */
export const publishesKey = (published: string, publicKey: string): boolean => {
  const tags = tagsOf(published)
  return (
    tags !== undefined &&
    publicKey !== '' &&
    tags.get('p') === publicKey &&
    isOfVersion(tags) &&
    (tags.get('k') ?? 'rsa') === 'rsa' &&
    allows(tags.get('h'), 'sha256') &&
    allows(tags.get('s'), '*', 'email')
  )
}

/** The key in a record as we give it out. */
export const keyIn = (record: string): string => tagsOf(record)?.get('p') ?? ''
