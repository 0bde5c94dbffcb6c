import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type JsonBounds, makeScan, type ScanResult, scanJson } from './json-scan.ts'

const wide = { depth: 1_000, values: 1e9 }

/** Scans in pieces of a few steps, so that every state of the scan is interrupted. */
const scan = (text: string, bounds: JsonBounds = wide, steps = 3): ScanResult => {
  const read = makeScan(Buffer.from(text), bounds)
  for (;;) {
    const result = read(steps)
    if (result) return result
  }
}

const countValues = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, inner) => sum + countValues(inner), 1)
    : 1

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

const strings = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('"', '\\', '\\"', '[{,', '"'.repeat(600)))
const value = fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' })
const document = fc.oneof(value, fc.array(fc.oneof(value, strings)), fc.dictionary(strings, strings))

test('The scan counts exactly the values and the depth of any JSON text, however it is divided into steps', () => {
  fc.assert(
    fc.property(document, fc.constantFrom(0, 2), fc.integer({ min: 1, max: 700 }), (given, indent, steps) => {
      const text = JSON.stringify(given, null, indent)
      const [values, depth] = [countValues(given), depthOf(given)]
      expect(scan(text, { depth, values }, steps).fault).toBeUndefined()
      expect(scan(text, { depth: depth - 1, values }, steps).fault).toBe(depth === 0 ? undefined : 'depth')
      expect(scan(text, { depth, values: values - 1 }, steps).fault).toBe(values === 1 ? undefined : 'values')
    }),
  )
})

test('The scan finds the elements of a list, and each of them parses to its element', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(value, strings)), fc.constantFrom(0, 1), (list, indent) => {
      const text = JSON.stringify(list, null, indent)
      const { fault, elements } = scan(` ${text}\n`, { ...wide, elements: list.length })
      expect(fault).toBeUndefined()
      const bytes = Buffer.from(` ${text}\n`)
      const parsed = elements?.map(({ start, end }) => JSON.parse(bytes.toString('utf8', start, end)))
      expect(parsed).toEqual(JSON.parse(text))
      if (list.length > 0) expect(scan(text, { ...wide, elements: list.length - 1 }).fault).toBe('elements')
    }),
  )
})

test('The bound on values applies to each element of a list, and to the whole of any other body', () => {
  const bounds = { depth: 10, values: 4, elements: 3 }
  expect(scan('[[1,2,3],{"a":1},4]', bounds).fault).toBeUndefined()
  expect(scan('[[1,2,3,4]]', bounds).fault).toBe('values')
  expect(scan('{"a":1,"b":[1]}', bounds)).toEqual({ fault: undefined, elements: undefined })
  expect(scan('{"a":1,"b":[1,2]}', bounds).fault).toBe('values')
})

test.each(['[1', '[1}', '[1] 2', '[1]]', '[1],', '[[1]', '["a'])(
  'A list that is not one complete list is a fault of its own: %s',
  (text) => {
    expect(scan(text, { ...wide, elements: 100 })).toEqual({ fault: 'syntax', elements: undefined })
  },
)

test('The scan stops at the bound and does not read the rest of the text', () => {
  const bytes = Buffer.from(`[${'[],'.repeat(1_000_000)}[]]`)
  const read = makeScan(bytes, { depth: 200, values: 1_000 })
  expect(read(2_990)).toBeUndefined()
  expect(read(10)).toEqual({ fault: 'values', elements: undefined })
})

test('A long string is searched instead of read byte by byte, also with escapes in it', () => {
  const text = JSON.stringify({ a: 'x'.repeat(5_000_000), b: 1 })
  expect(makeScan(Buffer.from(text), wide)(2_000)).toEqual({ fault: undefined, elements: undefined })
  const escaped = JSON.stringify({ a: `${'x'.repeat(1_000)}\\"`.repeat(1_000), b: 1 })
  expect(makeScan(Buffer.from(escaped), { depth: 1, values: 3 })(1_000_000)?.fault).toBeUndefined()
})

test('A large text is scanned over several turns, and other work runs between them', async () => {
  const bytes = Buffer.from(`[${'1,'.repeat(2_500_000)}1]`)
  let turns = 0
  const count = (): void => {
    turns++
    pending = setImmediate(count)
  }
  let pending = setImmediate(count)
  expect((await scanJson(bytes, wide)).fault).toBeUndefined()
  clearImmediate(pending)
  expect(turns).toBeGreaterThanOrEqual(4)
})
