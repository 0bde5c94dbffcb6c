import { randomBase62 } from './crypto.ts'
import { type Code, Failure } from './errors.ts'

/** Latin letters that are letters of their own, so that no decomposition gives their base. */
const plainLetters: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ł: 'l',
  ŋ: 'n',
  ŧ: 't',
}

const ownLetters = new RegExp(`[${Object.keys(plainLetters).join('')}]`, 'g')

/**
 * Lower-case Latin letters without their marks and digits, with one dash for each run of other characters. At most 48
 * characters. A text of other scripts has none of them and gets `whenEmpty`.
 */
export const slugOf = (text: string, whenEmpty: string): string => {
  const slug = text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(ownLetters, (letter) => plainLetters[letter] as string)
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 48)
    .replace(/^-+|-+$/g, '')
  return slug || whenEmpty
}

/** The slug with six random characters appended, for when the slug is already in use. */
export const suffixed = (slug: string): string =>
  `${slug.slice(0, 41).replace(/-+$/, '')}-${randomBase62(6).toLowerCase()}`

const tries = 5

/**
 * Inserts a row with the slug from the request, which may be taken, or with one that is derived from its name. That one gets
 * a random suffix until it is free.
 */
export const withFreeSlug = async <Row>(
  { given, derived, taken }: { given: string | undefined; derived: string; taken: Code },
  insert: (slug: string) => Promise<Row | undefined>,
): Promise<Row> => {
  for (let n = 0; n < tries; n++) {
    const row = await insert(given ?? (n === 0 ? derived : suffixed(derived)))
    if (row) return row
    if (given !== undefined) throw new Failure(taken)
  }
  throw new Error(`No free slug found for ${derived}`)
}
