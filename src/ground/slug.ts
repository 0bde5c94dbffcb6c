import { randomBase62 } from './crypto.ts'

/** Lower case, runs of other characters to one dash, at most 48 characters. */
export const slugOf = (text: string, whenEmpty: string): string => {
  const slug = text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 48)
    .replace(/^-+|-+$/g, '')
  return slug || whenEmpty
}

/** The same slug with six characters more, for when it is taken. */
export const suffixed = (slug: string): string =>
  `${slug.slice(0, 41).replace(/-+$/, '')}-${randomBase62(6).toLowerCase()}`
