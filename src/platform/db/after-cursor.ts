/**
 * The part of a keyset list that reads on after the cursor. It is always a bound, at infinity if need be: with
 * `:afterAt is null or …` the index could not skip to the page. Its parameters are a `Keyset`.
 */
export const afterCursor = (prefix = ''): string =>
  `(${prefix}created_at, ${prefix}id) < (coalesce(:afterAt::timestamptz, 'infinity'), coalesce(:afterId, 'zzz'))`
