import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  architectureFaults,
  dashboardFaults,
  dashboardLayers,
  places,
  readAllCode,
  readDashboard,
  readSources,
  spreadFaults,
} from '../scripts/architecture.ts'

const root = join(import.meta.dirname, '..')

const faultsOf = (files: Record<string, string>) => architectureFaults(new Map(Object.entries(files)))

test('the sources follow every rule', () => {
  expect(architectureFaults(readSources(join(root, 'src')))).toEqual([])
  expect([...readAllCode(root)].flatMap(([file, text]) => spreadFaults(file, text))).toEqual([])
})

test('every folder of the house exists', () => {
  const files = [...readSources(join(root, 'src')).keys()]
  for (const folder of places.keys()) {
    expect(
      files.some((file) => file.startsWith(`${folder}/`)),
      folder,
    ).toBe(true)
  }
})

describe('imports', () => {
  test('an upward import is a fault, also of a type and in a re-export', () => {
    expect(faultsOf({ 'platform/db/a.ts': "import { b } from '../../interfaces/http/b.ts'" })).toEqual([
      'platform/db/a.ts imports interfaces/http/b.ts: upward, from platform/db to interfaces/http',
    ])
    expect(faultsOf({ 'platform/db/a.ts': "import type { B } from '../../interfaces/http/b.ts'" })).toHaveLength(1)
    expect(faultsOf({ 'platform/db/a.ts': "export { b } from '../../interfaces/http/b.ts'" })).toHaveLength(1)
    expect(faultsOf({ 'platform/db/a.ts': "export * from '../../interfaces/http/b.ts'" })).toHaveLength(1)
    expect(faultsOf({ 'platform/db/a.ts': "const b = await import('../../interfaces/http/b.ts')" })).toHaveLength(1)
  })

  test('a downward import is allowed', () => {
    expect(faultsOf({ 'interfaces/http/a.ts': "import { b } from '../../platform/db/b.ts'" })).toEqual([])
    expect(faultsOf({ 'customers/keys/a.ts': "import { b } from '../usage/b.ts'" })).toEqual([])
  })

  test('an upward import within a room is a fault', () => {
    expect(faultsOf({ 'customers/usage/a.ts': "import { b } from '../keys/b.ts'" })).toEqual([
      'customers/usage/a.ts imports customers/keys/b.ts: upward, from customers/usage to customers/keys',
    ])
  })

  test('an import between rooms of one floor is a fault', () => {
    expect(faultsOf({ 'webhooks/a.ts': "import { b } from '../recipients/audiences/b.ts'" })).toEqual([
      'webhooks/a.ts imports recipients/audiences/b.ts: webhooks and recipients/audiences are on one floor',
    ])
  })

  test('an import between folders of one layer is a fault', () => {
    expect(faultsOf({ 'customers/keys/a.ts': "import { b } from '../tenants/b.ts'" })).toEqual([
      'customers/keys/a.ts imports customers/tenants/b.ts: customers/keys and customers/tenants are in one layer',
    ])
    expect(faultsOf({ 'interfaces/http/v1/a.ts': "import { b } from '../dashboard/b.ts'" })).toHaveLength(1)
  })

  test('a circle inside a folder is a fault', () => {
    expect(
      faultsOf({
        'customers/keys/a.ts': "import { b } from './b.ts'",
        'customers/keys/b.ts': "import type { C } from './c.ts'",
        'customers/keys/c.ts': "import { a } from './a.ts'",
      }),
    ).toEqual(['circle: customers/keys/a.ts → customers/keys/b.ts → customers/keys/c.ts → customers/keys/a.ts'])
  })

  test('a file outside every room is a fault', () => {
    expect(faultsOf({ 'misplaced/a.ts': '' })).toEqual([
      'misplaced/a.ts is in no room: add it to the house in scripts/architecture.ts',
    ])
  })
})

describe('contents', () => {
  test.each([
    ['reading the environment', 'platform/db/a.ts', 'process.env.PORT'],
    ['a statement outside a store', 'customers/keys/find.ts', "statement('keys.find', 'select 1')"],
    ['the time of the database in a store', 'customers/keys/store.ts', 'select now()'],
    ['the time of the database in a part of a store', 'customers/keys/store/rows.ts', 'select now()'],
    ['every column', 'customers/keys/store.ts', '`select * from api_keys`'],
    ['every column of one table', 'customers/keys/store.ts', '`select o.plan, k.* from api_keys k`'],
    ['every returned column', 'customers/keys/store.ts', '`update api_keys set a = 1 returning *`'],
    ['the address of a connection', 'interfaces/http/v1/a.ts', 'request.socket.remoteAddress'],
    ['a forwarded address', 'interfaces/http/a.ts', "headers['x-forwarded-for']"],
    ["the framework's address", 'interfaces/http/dev/a.ts', 'request.ip'],
    ['the database in a route', 'interfaces/http/v1/a.ts', "import type { Db } from '../../../platform/db/pool.ts'"],
    ['a check of a password without its limits', 'people/team/a.ts', 'await passwords.matches(stored, given, ip)'],
    ['a limit on single addresses', 'people/oauth/a.ts', "const source = address ?? 'unknown'"],
    ['an error that is not named as one', 'providers/a.ts', 'class TooLarge extends Error {}'],
    ['a name that hides the purpose', 'customers/keys/utils.ts', ''],
  ])('%s is a fault', (_, file, text) => {
    expect(faultsOf({ [file]: text })).toHaveLength(1)
  })

  test('counting rows and multiplying are allowed in a store', () => {
    expect(faultsOf({ 'customers/keys/store.ts': '`select count(*), a * b from api_keys`' })).toEqual([])
  })
})

describe('names', () => {
  test('a file name may occur once, unless it names the same part of every module', () => {
    expect(faultsOf({ 'customers/keys/find.ts': '', 'customers/tenants/find.ts': '' })).toEqual([
      'the file name find.ts is used twice: customers/keys/find.ts, customers/tenants/find.ts',
    ])
    expect(
      faultsOf({ 'customers/keys/store.ts': '', 'customers/tenants/store.ts': '', 'interfaces/http/v1/keys.ts': '' }),
    ).toEqual([])
  })

  test('an exported name may occur once, and a schema shares its name with its type', () => {
    expect(
      faultsOf({ 'customers/keys/a.ts': 'export type Claim = 1', 'customers/tenants/b.ts': 'export const Claim = 1' }),
    ).toEqual(['the exported name Claim is used twice: customers/keys/a.ts, customers/tenants/b.ts'])
    expect(faultsOf({ 'customers/keys/a.ts': 'export const Key = 1\nexport type Key = 1' })).toEqual([])
  })
})

test('a module has store.ts or a folder store/, not both', () => {
  expect(faultsOf({ 'customers/keys/store.ts': '', 'customers/keys/store/rows.ts': '' })).toEqual([
    'customers/keys/store.ts and customers/keys/store/ are both there: move the statements into the folder',
  ])
  expect(faultsOf({ 'customers/keys/store.ts': '', 'customers/usage/store/rows.ts': '' })).toEqual([])
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

describe('the dashboard', () => {
  const faults = (files: Record<string, string>) => dashboardFaults(new Map(Object.entries(files)))

  test('its sources follow every rule, and every layer exists', () => {
    const sources = readDashboard(root)
    expect(dashboardFaults(sources)).toEqual([])
    const folders = new Set([...sources.keys()].map((file) => file.split('/')[0]))
    expect(dashboardLayers.filter((layer) => !folders.has(layer))).toEqual([])
  })

  test('an upward import is a fault, also of a type, of a file at the top and when it is loaded later', () => {
    expect(faults({ 'ui/a.tsx': "import type { B } from '../pages/b/view.tsx'" })).toEqual([
      'ui/a.tsx imports pages/b/view.tsx: upward, from ui to pages',
    ])
    expect(faults({ 'pages/a/a.ts': "import { router } from '../../router.tsx'" })).toEqual([
      'pages/a/a.ts imports router.tsx: upward, from pages to the top',
    ])
    expect(faults({ 'parts/a.ts': "const b = await import('../shell/b.tsx')" })).toHaveLength(1)
    expect(
      faults({ 'shell/a.tsx': "import { b } from '../pages/b.ts'", 'router.tsx': "import './shell/a.tsx'" }),
    ).toEqual([])
  })

  test('a page imports nothing of another group of pages', () => {
    expect(faults({ 'pages/a/view.tsx': "import { b } from '../b/c/b.ts'" })).toEqual([
      'pages/a/view.tsx imports pages/b/c/b.ts: pages/a and pages/b are apart: move what they share to parts/',
    ])
    const allowed = "import '../define-page.ts'\nimport './detail/view.tsx'\nimport '../../parts/b.ts'"
    expect(faults({ 'pages/a/view.tsx': allowed })).toEqual([])
  })

  test('a circle, a folder outside the layers and an import from outside are faults', () => {
    expect(faults({ 'ui/a.tsx': "import './b.ts'", 'ui/b.ts': "import './a.tsx'" })).toEqual([
      'circle: ui/a.tsx → ui/b.ts → ui/a.tsx',
    ])
    expect(faults({ 'misplaced/a.ts': '' })).toEqual([
      'misplaced/a.ts is in no layer: add it to dashboardLayers in scripts/architecture.ts',
    ])
    expect(faults({ 'api/a.ts': "import '../../../src/main.ts'" })).toHaveLength(1)
  })
})
