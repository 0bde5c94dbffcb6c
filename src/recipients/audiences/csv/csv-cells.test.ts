import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readCell, writeCell, writeLine } from './csv-cells.ts'
import { columnName, readHeader } from './csv-header.ts'
import { readRow } from './csv-row.ts'
import { parseCsv } from './parse-csv.ts'

describe('Cells', () => {
  test.each(['=1+1', '+cmd', '-2+3', '@SUM(A1)', '\t=1', "'=1", '＝1+1', '=HYPERLINK("http://x")'])(
    'R-30 a cell that a spreadsheet would run begins with an apostrophe: %s',
    (text) => {
      expect(writeCell(text).replace(/^"/, '')).toMatch(/^'/)
    },
  )

  test.each(['+14155550100', '-5', '3.14', 'ada@example.com', 'Ada', "O'Brien", "'90s"])(
    'R-30 other cells stay as they are: %s',
    (text) => {
      expect(writeCell(text)).toBe(text)
    },
  )

  const awkward = fc.string({
    unit: fc.constantFrom("'", '=', '+', '-', '@', '"', ',', ';', '\n', '\r', '\t', ' ', '1', 'a', '＝', 'ß', '😀'),
  })

  test('R-30 every text survives being written and read', () => {
    fc.assert(
      fc.property(fc.oneof(awkward, fc.string({ unit: 'grapheme' })), (text) => {
        const written = writeCell(text)
        const quoted = /^"([\s\S]*)"$/.exec(written)
        const cell = quoted ? (quoted[1] as string).replaceAll('""', '"') : written
        expect(readCell(cell)).toBe(text)
      }),
      { numRuns: 2_000 },
    )
  })

  test('R-30 every contact survives being exported and imported elsewhere', async () => {
    const text = awkward.filter((value) => value.trim() !== '')
    const key = fc.oneof(text, fc.constantFrom('email', 'Name', "'phone", "''EMAIL")).map((name) => name.trim())
    const contact = fc.record({
      name: fc.option(text.map((name) => name.trim())),
      metadata: fc.dictionary(key, text, { maxKeys: 5 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(contact, { minLength: 1, maxLength: 5 }), async (contacts) => {
        const keys = [...new Set(contacts.flatMap(({ metadata }) => Object.keys(metadata)))].sort()
        const lines = contacts.map(({ name, metadata }, i) =>
          writeLine([`p${i}@example.com`, '', name ?? '', ...keys.map((one) => metadata[one] ?? '')]),
        )
        const csv = writeLine(['email', 'phone', 'name', ...keys.map(columnName)]) + lines.join('')
        const { contacts: read } = await parseCsv(Buffer.from(csv))
        expect(read.map(({ name, metadata }) => ({ name, metadata: JSON.parse(metadata) }))).toEqual(
          contacts.map(({ name, metadata }) => ({ name, metadata })),
        )
      }),
      { numRuns: 200 },
    )
  })
})

describe('Headers', () => {
  test.each([
    [['name'], 'The header needs a column "email" or "phone".'],
    [['email', 'Email '], 'The header names the column "email" twice.'],
    [['email', 'plan', ' plan'], 'The header names the column "plan" twice.'],
    [['email', 'k'.repeat(129)], 'A column name has more than 128 characters.'],
    [['email', 'a\0b'], 'A column name contains a character that cannot be stored.'],
    [['email', ...Array.from({ length: 2_000 }, (_, i) => `k${i}`)], 'The header has more than 2,000 columns.'],
  ])('S-414 SD-110 a header is refused: %#', (cells, message) => {
    expect(readHeader(cells)).toBe(message)
  })

  test('S-415 SD-110 names are trimmed, and known ones are read without case', () => {
    expect(readHeader([' EMAIL ', 'Phone', 'NAME', ' Plan ', ''])).toEqual({
      known: { email: 0, phone: 1, name: 2 },
      keys: [{ at: 3, key: 'Plan' }],
      width: 5,
      unnamed: [4],
    })
  })
})

test('S-416 R-30 a value under a column without a name skips the row, and a blank one does not', () => {
  const header = readHeader(['email', ''])
  if (typeof header === 'string') throw new Error(header)
  expect(readRow(['a@example.com', ' '], header)).toEqual({
    name: null,
    email: 'a@example.com',
    phone: null,
    metadata: '{}',
  })
  expect(readRow(['a@example.com', 'x'], header)).toBe('a cell has no column name')
  expect(readRow(['a@example.com', '', '', 'x'], header)).toBe('a cell has no column name')
})
