import { expect, test } from 'vitest'
import { isCountry } from '../../src/platform/ground/phone-number.ts'
import { allCountries } from '../../web/src/ui/country-names.ts'

const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']

test('The dashboard offers exactly the countries that the service knows', () => {
  const known = letters.flatMap((first) => letters.map((second) => first + second)).filter(isCountry)
  expect(allCountries.map(({ code }) => code).sort()).toEqual(known)
})
