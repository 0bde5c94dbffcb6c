import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { getCountries, getCountryCallingCode, getExampleNumber } from 'libphonenumber-js/max'
import examples from 'libphonenumber-js/mobile/examples'
import { describe, expect, test } from 'vitest'
import { callingCodeOf, countryOf, isCountry, isE164, isHighCost } from './phone-number.ts'

describe('the calling code of a number', () => {
  test.each(getCountries())('%s belongs to the countries of its calling code', (country) => {
    const example = getExampleNumber(country, examples)
    const number = example?.number ?? `+${getCountryCallingCode(country)}5550100`
    const code = callingCodeOf(number)
    expect(code?.code).toBe(getCountryCallingCode(country))
    expect(code?.countries).toContain(country)
    expect(isCountry(country)).toBe(true)
    expect(isHighCost(number)).toBe(false)
  })

  test.each([
    ['+15125550100', '1', ['US', 'CA', 'JM', 'PR']],
    ['+447911123456', '44', ['GB', 'GG', 'IM', 'JE']],
    ['+79161234567', '7', ['RU', 'KZ']],
    ['+38344123456', '383', ['XK']],
  ])('%s has the shared code %s', (number, code, countries) => {
    expect(callingCodeOf(number)?.code).toBe(code)
    expect(callingCodeOf(number)?.countries).toEqual(expect.arrayContaining(countries))
  })

  test('a code of no country has no countries, and an unassigned code is not found', () => {
    expect(callingCodeOf('+88213300000')).toEqual({ code: '882', countries: [] })
    expect(callingCodeOf('+2101234567')).toBeUndefined()
    expect(countryOf('+2101234567')).toBeUndefined()
    expect(countryOf('+80012345678')).toBeUndefined()
    expect(isCountry('ZZ')).toBe(false)
  })
})

test.each([
  ['+15125550100', 'US'],
  ['+16045550100', 'CA'],
  ['+18765550100', 'JM'],
  ['+12425550100', 'BS'],
  ['+77011234567', 'KZ'],
  ['+79161234567', 'RU'],
  ['+919876543210', 'IN'],
  ['+10005550100', 'US'],
])('%s is a number of %s', (number, country) => {
  expect(countryOf(number)).toBe(country)
})

test.each(['+870', '+878', '+881', '+8816', '+882', '+883'])('%s is a high-cost range', (prefix) => {
  expect(isHighCost(`${prefix}12345678`)).toBe(true)
})

test.each([
  ['+12', true],
  ['+123456789012345', true],
  ['+1', false],
  ['+1234567890123456', false],
  ['+0123', false],
  ['15125550100', false],
  ['+1512555010a', false],
  ['+15125550100\n', false],
])('%j in E.164 form: %s', (value, valid) => {
  expect(isE164(value)).toBe(valid)
})

test('is loaded by Node itself, as the benchmarks do, and not only by a bundler', async () => {
  const program = `await import(${JSON.stringify(new URL('phone-number.ts', import.meta.url).href)}); console.log('loaded')`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  expect(stdout).toBe('loaded\n')
})
