import { randomBase62 } from './crypto.ts'

/** Lower-case letters and digits, with one dash for each run of other characters. At most 48 characters. */
export const slugOf = (text: string, whenEmpty: string): string => {
  const slug = text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 48)
    .replace(/^-+|-+$/g, '')
  return slug || whenEmpty
}

/** The slug with six random characters appended, for when the slug is already in use. */
export const suffixed = (slug: string): string =>
  `${slug.slice(0, 41).replace(/-+$/, '')}-${randomBase62(6).toLowerCase()}`
