import { SourceMap } from 'node:module'
import { expect, test } from 'vitest'
import { reduceToLines } from '../../scripts/line-map.js'

const reduced = (mappings: string) => {
  const sources = ['../node_modules/lib/index.js', '../src/a.ts', '../src/b.ts']
  const whole = JSON.stringify({ version: 3, sources, names: ['unused'], mappings })
  return JSON.parse(reduceToLines(whole, (path) => path.startsWith('../src/')))
}

/** The source and the line of a place, both counted from 0. */
const placeIn = (map: ConstructorParameters<typeof SourceMap>[0], line: number, column: number) => {
  const entry = new SourceMap(map).findEntry(line, column)
  return 'originalLine' in entry && entry.originalSource ? [entry.originalSource, entry.originalLine] : undefined
}

/**
 * Line 0: a package. Line 1: line 40 of a.ts from column 2 and line 42 from column 10. Line 2: the same line again. Line
 * 3: nothing. Line 4: a package. Line 5: line 3 of b.ts.
 */
const mappings = 'AAAA,EAAE;ECwCA,EAAE,MAEA;EAAA,EAAE;;ADzCF;EEeF'

test('A reduced source map has the lines of the chosen sources and nothing of the others', () => {
  const map = reduced(mappings)
  expect(map).toMatchObject({ version: 3, names: [], sources: ['../src/a.ts', '../src/b.ts'] })
  const whole = { ...map, sources: ['../node_modules/lib/index.js', ...map.sources], mappings }
  for (const [line, column] of [
    [1, 2],
    [1, 4],
    [1, 12],
    [2, 2],
    [5, 2],
  ] as const) {
    expect(placeIn(map, line, column)).toEqual(placeIn(whole, line, column))
  }
  expect(placeIn(map, 1, 2)?.[0]).toBe('../src/a.ts')
  expect(placeIn(map, 5, 2)?.[0]).toBe('../src/b.ts')
  for (const line of [0, 3, 4]) expect(placeIn(map, line, 0)).toBeUndefined()
})

test('A reduced source map repeats no line that the code before it belongs to', () => {
  const count = (text: string) => text.split(/[;,]/).filter(Boolean).length
  expect([count(mappings), count(reduced(mappings).mappings)]).toEqual([9, 4])
})
