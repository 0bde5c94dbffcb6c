import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodingOf, segmentsOf, splitText } from './segments.ts'

describe('the segments of a text', () => {
  test.each([
    ['an empty text', '', 1],
    ['160 GSM-7 characters', 'a'.repeat(160), 1],
    ['161 GSM-7 characters', 'a'.repeat(161), 2],
    ['300 GSM-7 characters', 'a'.repeat(300), 2],
    ['306 GSM-7 characters', 'a'.repeat(306), 2],
    ['307 GSM-7 characters', 'a'.repeat(307), 3],
    ['80 extension characters', '€'.repeat(80), 1],
    ['81 extension characters', '€'.repeat(81), 2],
    ['an extension character that does not fit into the first part', `${'a'.repeat(152)}€${'a'.repeat(152)}`, 3],
    ['70 UCS-2 characters', 'ж'.repeat(70), 1],
    ['71 UCS-2 characters', 'ж'.repeat(71), 2],
    ['35 surrogate pairs', '😀'.repeat(35), 1],
    ['36 surrogate pairs', '😀'.repeat(36), 2],
    ['a surrogate pair that does not fit into the first part', `${'ж'.repeat(66)}😀${'ж'.repeat(66)}`, 3],
    ['one character outside GSM-7 among 71', `${'a'.repeat(70)}ж`, 2],
  ])('%s', (_, text, segments) => {
    expect(segmentsOf(text)).toBe(segments)
  })
})

const gsm7 = fc.string({ unit: fc.constantFrom(...'aé@£€{}~\n Ω5'), maxLength: 700 })
const anyText = fc.string({ unit: 'binary', maxLength: 400 })

test('the parts of any text join to the text, fit their limit, and are as few as can be', () => {
  fc.assert(
    fc.property(fc.oneof(gsm7, anyText), (text) => {
      const { encoding, parts } = splitText(text)
      const sizeOf = (part: string) =>
        encoding === 'ucs2'
          ? part.length
          : [...part].reduce((sum, character) => sum + ('\f^{}\\[~]|€'.includes(character) ? 2 : 1), 0)
      const limit = { gsm7: [160, 153], ucs2: [70, 67] }[encoding][parts.length > 1 ? 1 : 0] as number
      expect(parts.join('')).toBe(text)
      for (const [at, part] of parts.entries()) {
        expect(sizeOf(part)).toBeLessThanOrEqual(limit)
        const [next] = parts[at + 1] ?? ''
        if (next !== undefined) expect(sizeOf(part + next)).toBeGreaterThan(limit)
      }
      if (parts.length > 1) expect(sizeOf(text)).toBeGreaterThan(encoding === 'gsm7' ? 160 : 70)
    }),
    { numRuns: 500 },
  )
})

test('a text is GSM-7 only when every character is in its two tables', () => {
  const table = '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCXYZÄÖÑÜ§¿abcxyzäöñüà\f^{}\\[~]|€'
  expect(encodingOf(table)).toBe('gsm7')
  for (const other of ['ç', '`', '\t', '’', 'ё', '\u00a0', '\u001b']) expect(encodingOf(other)).toBe('ucs2')
})
