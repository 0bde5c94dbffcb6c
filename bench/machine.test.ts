import { expect, test } from 'vitest'
import { notesBetween, readProcess, readStat, ticksOfTree } from './machine.ts'

test('The time of the machine is read with what the host took and without the time of guests', () => {
  const text = 'cpu  100 20 30 400 50 6 7 80 9 1\ncpu0 1 2 3 4 5 6 7 8 9 10\n'
  expect(readStat(text)).toEqual({ all: 693, idle: 450, stolen: 80 })
})

test('A process counts with its ended children, whatever its name is', () => {
  const text = '12 (a) b (c) S 7 12 12 0 -1 4194304 100 0 0 0 11 5 3 2 20 0 1 0 100 1 1'
  expect(readProcess(text)).toEqual({ pid: 12, parent: 7, ticks: 21 })
})

test('The time of a process includes that of its descendants only', () => {
  const processes = [
    { pid: 1, parent: 0, ticks: 1_000 },
    { pid: 5, parent: 1, ticks: 100 },
    { pid: 6, parent: 5, ticks: 10 },
    { pid: 7, parent: 6, ticks: 1 },
    { pid: 8, parent: 1, ticks: 500 },
  ]
  expect(ticksOfTree(5, processes)).toBe(111)
})

const start = { all: 1_000, idle: 500, stolen: 100, own: 300 }

test('Nothing is noted while the machine is idle or does only what is measured', () => {
  expect(notesBetween(start, { all: 2_000, idle: 1_500, stolen: 100, own: 300 })).toEqual([])
  expect(notesBetween(start, { all: 2_000, idle: 600, stolen: 150, own: 1_060 })).toEqual([])
})

test('A tenth of the processors in the hands of others is noted', () => {
  expect(notesBetween(start, { all: 2_000, idle: 700, stolen: 200, own: 860 })).toEqual([
    'other programs used 14 % of the processors: run it again when it is quiet',
    'other machines on the same host used 10 % of the processors: run it again when it is quiet',
  ])
})
