import { expect, test } from 'vitest'
import { readArguments } from './arguments.ts'

const known = ['record', 'render']

test('no arguments mean every bench at full length', () => {
  expect(readArguments([], known)).toEqual({ only: [], json: false, list: false, quick: false, help: false })
})

test('benches are chosen by repeated names or by names separated by commas', () => {
  expect(readArguments(['--only', 'record', '--only', 'render'], known).only).toEqual(known)
  expect(readArguments(['--only', 'record,render', '--json'], known)).toMatchObject({
    only: known,
    json: true,
  })
})

test('an unknown bench is refused with the names there are', () => {
  expect(() => readArguments(['--only', 'recrod'], known)).toThrow(
    "no bench is named 'recrod'; there are: record, render",
  )
})

test('an unknown option is refused by its name', () => {
  expect(() => readArguments(['--fast'], known)).toThrow(/--fast/)
})
