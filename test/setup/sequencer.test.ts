import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { longestFirst, startedFirst } from './sequencer.ts'

test('the files that take longest are started first, and the others keep their order', () => {
  const files = ['src/b.test.ts', 'test/crash/blast-killed.test.ts', 'src/a.test.ts', 'test/browser/browser.test.ts']
  expect(longestFirst(files)).toEqual([
    'test/browser/browser.test.ts',
    'test/crash/blast-killed.test.ts',
    'src/b.test.ts',
    'src/a.test.ts',
  ])
})

test('every path that is started first exists', () => {
  expect(startedFirst.filter((path) => !existsSync(path))).toEqual([])
})
