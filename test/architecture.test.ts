import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { architectureFaults, layers, readAllCode, readSources, spreadFaults } from '../scripts/architecture.ts'

const root = join(import.meta.dirname, '..')

const faultsOf = (files: Record<string, string>) => architectureFaults(new Map(Object.entries(files)))

test('the sources follow every rule', () => {
  expect(architectureFaults(readSources(join(root, 'src')))).toEqual([])
  expect([...readAllCode(root)].flatMap(([file, text]) => spreadFaults(file, text))).toEqual([])
})

test('every module of the layers exists', () => {
  const files = [...readSources(join(root, 'src')).keys()]
  for (const module of layers.flat()) {
    expect(
      files.some((file) => file.startsWith(module)),
      module,
    ).toBe(true)
  }
})

describe('imports', () => {
  test('an upward import is a fault, also of a type and in a re-export', () => {
    expect(faultsOf({ 'db/a.ts': "import { b } from '../http/b.ts'" })).toEqual([
      'db/a.ts imports http/b.ts: upward, from db to http',
    ])
    expect(faultsOf({ 'db/a.ts': "import type { B } from '../http/b.ts'" })).toHaveLength(1)
    expect(faultsOf({ 'db/a.ts': "export { b } from '../http/b.ts'" })).toHaveLength(1)
    expect(faultsOf({ 'db/a.ts': "export * from '../http/b.ts'" })).toHaveLength(1)
    expect(faultsOf({ 'db/a.ts': "const b = await import('../http/b.ts')" })).toHaveLength(1)
  })

  test('a downward import is allowed', () => {
    expect(faultsOf({ 'http/a.ts': "import { b } from '../db/b.ts'" })).toEqual([])
  })

  test('an import between modules of one layer is a fault', () => {
    expect(faultsOf({ 'keys/a.ts': "import { b } from '../tenants/b.ts'" })).toEqual([
      'keys/a.ts imports tenants/b.ts: keys and tenants are in one layer',
    ])
    expect(faultsOf({ 'http/v1/a.ts': "import { b } from '../dashboard/b.ts'" })).toHaveLength(1)
  })

  test('a circle inside a module is a fault', () => {
    expect(
      faultsOf({
        'keys/a.ts': "import { b } from './b.ts'",
        'keys/b.ts': "import type { C } from './c.ts'",
        'keys/c.ts': "import { a } from './a.ts'",
      }),
    ).toEqual(['circle: keys/a.ts → keys/b.ts → keys/c.ts → keys/a.ts'])
  })

  test('a file outside every module is a fault', () => {
    expect(faultsOf({ 'misplaced/a.ts': '' })).toEqual([
      'misplaced/a.ts is in no module: add it to the layers in scripts/architecture.ts',
    ])
  })
})

describe('contents', () => {
  test.each([
    ['reading the environment', 'db/a.ts', 'process.env.PORT'],
    ['a statement outside a store', 'keys/find.ts', "statement('keys.find', 'select 1')"],
    ['the time of the database in a store', 'keys/store.ts', 'select now()'],
    ['the time of the database in a part of a store', 'keys/store/rows.ts', 'select now()'],
    ['every column', 'keys/store.ts', '`select * from api_keys`'],
    ['every column of one table', 'keys/store.ts', '`select o.plan, k.* from api_keys k`'],
    ['every returned column', 'keys/store.ts', '`update api_keys set a = 1 returning *`'],
    ['the address of a connection', 'http/v1/a.ts', 'request.socket.remoteAddress'],
    ['a forwarded address', 'http/a.ts', "headers['x-forwarded-for']"],
    ["the framework's address", 'http/dev/a.ts', 'request.ip'],
    ['a check of a password without its limits', 'team/a.ts', 'await passwords.matches(stored, given, ip)'],
    ['a limit on single addresses', 'oauth/a.ts', "const source = address ?? 'unknown'"],
    ['a name that hides the purpose', 'keys/utils.ts', ''],
  ])('%s is a fault', (_, file, text) => {
    expect(faultsOf({ [file]: text })).toHaveLength(1)
  })

  test('counting rows and multiplying are allowed in a store', () => {
    expect(faultsOf({ 'keys/store.ts': '`select count(*), a * b from api_keys`' })).toEqual([])
  })
})

describe('names', () => {
  test('a file name may occur once, unless it names the same part of every module', () => {
    expect(faultsOf({ 'keys/find.ts': '', 'tenants/find.ts': '' })).toEqual([
      'the file name find.ts is used twice: keys/find.ts, tenants/find.ts',
    ])
    expect(faultsOf({ 'keys/store.ts': '', 'tenants/store.ts': '', 'http/v1/keys.ts': '' })).toEqual([])
  })

  test('an exported name may occur once, and a schema shares its name with its type', () => {
    expect(faultsOf({ 'keys/a.ts': 'export type Claim = 1', 'tenants/b.ts': 'export const Claim = 1' })).toEqual([
      'the exported name Claim is used twice: keys/a.ts, tenants/b.ts',
    ])
    expect(faultsOf({ 'keys/a.ts': 'export const Key = 1\nexport type Key = 1' })).toEqual([])
  })
})

test('a spread of a literal is a fault, and other spreads are allowed', () => {
  expect(spreadFaults('a.ts', 'call({\n  ...{ a, b },\n})')).toEqual([
    'a.ts:2 spreads a literal: write its values without the spread',
  ])
  expect(spreadFaults('a.ts', "const a = [...['x', 'y']]")).toHaveLength(1)
  expect(spreadFaults('a.ts', "const a = [...(['x', 'y'] as const)]")).toHaveLength(1)
  expect(spreadFaults('a.ts', 'const a = [...list, ...(b ? [b] : []), ...list.map(c)]')).toEqual([])
  expect(spreadFaults('a.ts', 'const a = { ...b, ...(c && { c }) }')).toEqual([])
})
