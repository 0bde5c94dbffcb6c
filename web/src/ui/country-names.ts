/** The countries that have a calling code, with their names in the language of the dashboard. */

/** Territories without a calling code, groups of countries, and codes for private use. */
const others = new Set('AQ BV CP CQ DG EA EU EZ GS HM IC PN QO TF UM UN XA XB ZZ'.split(' '))

const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })

/** Former codes, such as SU, have a present one. */
const isPresent = (code: string): boolean => Intl.getCanonicalLocales(`und-${code}`)[0] === `und-${code}`

export const countryName = (code: string): string => names.of(code) ?? code

export const allCountries: readonly { code: string; name: string }[] = letters
  .flatMap((first) => letters.map((second) => first + second))
  .filter((code) => names.of(code) !== undefined && isPresent(code) && !others.has(code))
  .map((code) => ({ code, name: countryName(code) }))
  .sort((one, other) => one.name.localeCompare(other.name, 'en'))
