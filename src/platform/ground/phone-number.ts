/** Phone numbers in E.164 form: their calling code, its countries, and ranges that are never sent to. */
import {
  type CountryCode,
  getCountries,
  getCountryCallingCode,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max'

const e164 = /^\+[1-9]\d{1,14}$/

export const isE164 = (value: string): boolean => e164.test(value)

/** A calling code and its countries as ISO 3166-1 alpha-2 codes. `XK` is Kosovo. Codes of no country have none. */
type CallingCode = { code: string; countries: readonly string[] }

/** Codes of services and networks that belong to no country. */
const withoutCountry = ['800', '808', '870', '878', '881', '882', '883', '888', '979']

/** The country that most numbers of a shared code belong to. */
const mainCountries = new Set<string>(['US', 'RU', 'GB', 'IT', 'NO', 'AU', 'MA', 'RE', 'SH', 'FI', 'GP', 'CW'])

const mainFirst = (a: string, b: string): number => Number(mainCountries.has(b)) - Number(mainCountries.has(a))

const byCode = Map.groupBy(getCountries(), (country) => getCountryCallingCode(country) as string)

const callingCodes = new Map<string, CallingCode>([
  ...withoutCountry.map((code): [string, CallingCode] => [code, { code, countries: [] }]),
  ...[...byCode].map(([code, found]): [string, CallingCode] => [code, { code, countries: found.sort(mainFirst) }]),
])

const longestCode = Math.max(...[...callingCodes.keys()].map((code) => code.length))

/** The calling code that the number begins with. Undefined when the code is not assigned. */
export const callingCodeOf = (number: string): CallingCode | undefined => {
  for (let length = longestCode; length > 0; length--) {
    const found = callingCodes.get(number.slice(1, 1 + length))
    if (found) return found
  }
  return undefined
}

/**
 * The country of the number. Of a shared calling code the range of the number decides, and for an unassigned range the
 * main country of the code.
 */
export const countryOf = (number: string): string | undefined => {
  const code = callingCodeOf(number)
  if (!code || code.countries.length < 2) return code?.countries[0]
  return parsePhoneNumberFromString(number)?.country ?? code.countries[0]
}

/** Every country that has a calling code. */
export const isCountry = (country: string): boolean => allCountries.has(country)

const allCountries: ReadonlySet<string> = new Set(getCountries())

/** Satellite and international networks, whose price per message is a multiple of any country's. */
const highCostCodes: ReadonlySet<string> = new Set(['870', '878', '881', '882', '883'])

export const isHighCost = (number: string): boolean => highCostCodes.has(number.slice(1, 4))

/** Numbers in North America that charge the caller: area code 900, and exchange 976 in any area. */
export const isPremium = (number: string): boolean => /^\+1(?:900|[2-9]\d{2}976)\d+$/.test(number)

/** Messages to India need a template that is registered with its carriers. */
export const needsDlt = (number: string): boolean => number.startsWith('+91')

/**
 * The number in E.164 form. Networks also write numbers in national form, as seen from `country`, and in international
 * form without a plus sign. A text that is not a valid number, such as a short code, stays as it is.
 */
export const toE164 = (text: string, country: string): string => {
  if (isE164(text)) return text
  if (!/^\d{4,20}$/.test(text)) return text
  const forms = [
    isCountry(country) ? parsePhoneNumberFromString(text, country as CountryCode) : undefined,
    parsePhoneNumberFromString(`+${text}`),
  ]
  return forms.find((number) => number?.isValid())?.number ?? text
}
