import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isBase64 } from './base64.ts'

const blanks = fc.array(fc.constantFrom(' ', '\t', '\n', '\r\n'), { maxLength: 3 }).map((list) => list.join(''))

test('SD-31 base64 is accepted with and without padding, however it is folded, and its bytes are the same', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 40 }),
      fc.boolean(),
      fc.array(blanks, { maxLength: 60 }),
      (bytes, padded, gaps) => {
        const whole = Buffer.from(bytes).toString('base64')
        const given = padded ? whole : whole.replace(/=+$/, '')
        const folded = [...given].map((digit, i) => `${gaps[i] ?? ''}${digit}`).join('') + (gaps.at(-1) ?? '')
        expect(isBase64(folded)).toBe(true)
        expect([...Buffer.from(folded, 'base64')]).toEqual([...bytes])
      },
    ),
    { numRuns: 1_000 },
  )
})

test.each([
  '!',
  'A',
  'AAAAA',
  '=',
  '==',
  'A=',
  'AA=',
  'AAA==',
  'AAAA=',
  'AA===',
  'AA==AA',
  'AA=A',
  'A A A\nA A',
  'AA-_',
  'AA\u00a0A',
  'AA\0A',
  ' =',
])('SD-31 %j is not base64', (text) => {
  expect(isBase64(text)).toBe(false)
})

test('SD-31 megabytes of blanks are accepted between digits, and hide no other character', () => {
  expect(isBase64(`AAAA${' \n'.repeat(5_000_000)}!`)).toBe(false)
  expect(isBase64(`${'A '.repeat(4_000_000)}`)).toBe(true)
})
