import { join } from 'node:path'
import { expect, test } from 'vitest'
import { architectureFaults, layers, readSources } from '../scripts/architecture.ts'

const service = (files: Record<string, string>) => architectureFaults(new Map(Object.entries(files)))

test('the house keeps to its floors', () => {
  expect(architectureFaults(readSources(join(import.meta.dirname, '../src')))).toEqual([])
})

test('every room of the floors exists', () => {
  const modules = [...readSources(join(import.meta.dirname, '../src')).keys()]
  for (const room of layers.flat())
    expect(
      modules.some((file) => file.startsWith(room)),
      room,
    ).toBe(true)
})

test('an import upward is found, types and re-exports included', () => {
  expect(service({ 'db/a.ts': "import { b } from '../http/b.ts'" })).toEqual([
    'db/a.ts imports http/b.ts: upward, from db to http',
  ])
  expect(service({ 'db/a.ts': "import type { B } from '../http/b.ts'" })).toHaveLength(1)
  expect(service({ 'db/a.ts': "export { b } from '../http/b.ts'" })).toHaveLength(1)
  expect(service({ 'db/a.ts': "export * from '../http/b.ts'" })).toHaveLength(1)
  expect(service({ 'db/a.ts': "const b = await import('../http/b.ts')" })).toHaveLength(1)
})

test('an import downward is fine', () => {
  expect(service({ 'http/a.ts': "import { b } from '../db/b.ts'" })).toEqual([])
})

test('an import across siblings is found', () => {
  expect(service({ 'keys/a.ts': "import { b } from '../tenants/b.ts'" })).toEqual([
    'keys/a.ts imports tenants/b.ts: keys and tenants are siblings',
  ])
  expect(service({ 'http/v1/a.ts': "import { b } from '../dashboard/b.ts'" })).toHaveLength(1)
})

test('a circle within a room is found', () => {
  expect(
    service({
      'keys/a.ts': "import { b } from './b.ts'",
      'keys/b.ts': "import type { C } from './c.ts'",
      'keys/c.ts': "import { a } from './a.ts'",
    }),
  ).toEqual(['circle: keys/a.ts → keys/b.ts → keys/c.ts → keys/a.ts'])
})

test('a file in no room, a stray environment read, SQL out of place and the database clock are found', () => {
  expect(service({ 'misplaced/a.ts': '' })).toEqual([
    'misplaced/a.ts is in no room: add it to the floors in scripts/architecture.ts',
  ])
  expect(service({ 'db/a.ts': 'process.env.PORT' })).toHaveLength(1)
  expect(service({ 'keys/find.ts': "statement('keys.find', 'select 1')" })).toHaveLength(1)
  expect(service({ 'keys/store.ts': 'select now()' })).toHaveLength(1)
  expect(service({ 'keys/utils.ts': '' })).toHaveLength(1)
})
