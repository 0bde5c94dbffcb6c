import { join } from 'node:path'
import { expect, test } from 'vitest'
import { architectureFaults, floors, readSources } from '../scripts/architecture.ts'

const house = (files: Record<string, string>) => architectureFaults(new Map(Object.entries(files)))

test('the house keeps to its floors', () => {
  expect(architectureFaults(readSources(join(import.meta.dirname, '../src')))).toEqual([])
})

test('every room of the floors exists', () => {
  const rooms = [...readSources(join(import.meta.dirname, '../src')).keys()]
  for (const room of floors.flat())
    expect(
      rooms.some((file) => file.startsWith(room)),
      room,
    ).toBe(true)
})

test('an import upward is found, types and re-exports included', () => {
  expect(house({ 'db/a.ts': "import { b } from '../http/b.ts'" })).toEqual([
    'db/a.ts imports http/b.ts: upward, from db to http',
  ])
  expect(house({ 'db/a.ts': "import type { B } from '../http/b.ts'" })).toHaveLength(1)
  expect(house({ 'db/a.ts': "export { b } from '../http/b.ts'" })).toHaveLength(1)
  expect(house({ 'db/a.ts': "export * from '../http/b.ts'" })).toHaveLength(1)
  expect(house({ 'db/a.ts': "const b = await import('../http/b.ts')" })).toHaveLength(1)
})

test('an import downward is fine', () => {
  expect(house({ 'http/a.ts': "import { b } from '../db/b.ts'" })).toEqual([])
})

test('an import across siblings is found', () => {
  expect(house({ 'keys/a.ts': "import { b } from '../tenants/b.ts'" })).toEqual([
    'keys/a.ts imports tenants/b.ts: keys and tenants are siblings',
  ])
  expect(house({ 'http/v1/a.ts': "import { b } from '../dashboard/b.ts'" })).toHaveLength(1)
})

test('a circle within a room is found', () => {
  expect(
    house({
      'keys/a.ts': "import { b } from './b.ts'",
      'keys/b.ts': "import type { C } from './c.ts'",
      'keys/c.ts': "import { a } from './a.ts'",
    }),
  ).toEqual(['circle: keys/a.ts → keys/b.ts → keys/c.ts → keys/a.ts'])
})

test('a file in no room, a stray environment read, SQL out of place and the database clock are found', () => {
  expect(house({ 'misplaced/a.ts': '' })).toEqual([
    'misplaced/a.ts is in no room: add it to the floors in scripts/architecture.ts',
  ])
  expect(house({ 'db/a.ts': 'process.env.PORT' })).toHaveLength(1)
  expect(house({ 'keys/find.ts': "statement('keys.find', 'select 1')" })).toHaveLength(1)
  expect(house({ 'keys/store.ts': 'select now()' })).toHaveLength(1)
  expect(house({ 'keys/utils.ts': '' })).toHaveLength(1)
})
