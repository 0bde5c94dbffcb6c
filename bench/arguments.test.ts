import { expect, test } from 'vitest'
import { readArguments } from './arguments.ts'

const known = ['record', 'render']

test('Without arguments every bench runs at full length', () => {
  expect(readArguments([], known)).toEqual({
    only: [],
    against: undefined,
    json: false,
    save: false,
    list: false,
    quick: false,
    help: false,
    startOnly: false,
  })
})

test('Benches are selected by repeated options or by comma-separated names', () => {
  expect(readArguments(['--only', 'record', '--only', 'render'], known).only).toEqual(known)
  expect(readArguments(['--only', 'record,render', '--json'], known)).toMatchObject({
    only: known,
    json: true,
  })
})

test('An unknown bench is rejected with a list of the available benches', () => {
  expect(() => readArguments(['--only', 'recrod'], known)).toThrow(
    "Unknown bench 'recrod'. Available benches: record, render",
  )
})

test('An unknown option is rejected by name', () => {
  expect(() => readArguments(['--fast'], known)).toThrow(/--fast/)
})

test('A commit to compare with is taken as it is', () => {
  expect(readArguments(['--only', 'record', '--against', 'HEAD~1'], known)).toMatchObject({ against: 'HEAD~1' })
})

test('A commit to compare with must be named', () => {
  expect(() => readArguments(['--against='], known)).toThrow('--against needs a commit, such as HEAD~1.')
  expect(() => readArguments(['--against', '--quick'], known)).toThrow(/--against/)
})
