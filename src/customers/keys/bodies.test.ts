/** Invalid request bodies: each is rejected with the path of the wrong field, and nothing is written. */
import { afterAll, expect, test } from 'vitest'
import { type Body, type KeyClient, keyClient, resetKeyCreationLimit } from '../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const elsewhere = await t.org({ name: 'Elsewhere' })
const keys = await keyClient(t, acme)
const foreign = await keyClient(t, elsewhere)
const leavesNoTrace = await watchTables(t.database)

type Case = [body: unknown, ...rows: [path: (string | number)[], code: string][]]

const domain = 'dom_01m7ekszz4e8brbwp01pb7h1dp'
const invalidInBoth: Case[] = [
  [{ name: '' }, [['name'], 'too_small']],
  [{ name: ' \t ' }, [['name'], 'too_small']],
  [{ name: 'n'.repeat(101) }, [['name'], 'too_big']],
  [{ name: null }, [['name'], 'invalid_type']],
  [{ scopes: [] }, [['scopes'], 'too_small']],
  [{ scopes: null }, [['scopes'], 'invalid_type']],
  [{ scopes: 'send:email' }, [['scopes'], 'invalid_type']],
  [{ allowed_domain_ids: [] }, [['allowed_domain_ids'], 'too_small']],
  [{ allowed_domain_ids: new Array(101).fill(domain) }, [['allowed_domain_ids'], 'too_big']],
  [{ allowed_cidrs: [] }, [['allowed_cidrs'], 'too_small']],
  [{ allowed_cidrs: new Array(51).fill('10.0.0.1') }, [['allowed_cidrs'], 'too_big']],
  [{ allowed_cidrs: ['10.0.0.1', '10.0.0.0/33'] }, [['allowed_cidrs', 1], 'custom']],
  [{ allowed_cidrs: ['example.test'] }, [['allowed_cidrs', 0], 'custom']],
  [{ allowed_cidrs: '10.0.0.1' }, [['allowed_cidrs'], 'invalid_type']],
  [{ expires_in_days: 0 }, [['expires_in_days'], 'too_small']],
  [{ expires_in_days: 3651 }, [['expires_in_days'], 'too_big']],
  [{ expires_in_days: 1.5 }, [['expires_in_days'], 'invalid_type']],
  [{ expires_in_days: '30' }, [['expires_in_days'], 'invalid_type']],
  [{ rate_limit_per_minute: 0 }, [['rate_limit_per_minute'], 'too_small']],
  [{ rate_limit_per_minute: 6001 }, [['rate_limit_per_minute'], 'too_big']],
  [{ rate_limit_per_minute: 2.5 }, [['rate_limit_per_minute'], 'invalid_type']],
  [{ tenant_id: 7 }, [['tenant_id'], 'invalid_type']],
  [[], [[], 'invalid_type']],
  [null, [[], 'invalid_type']],
  ['text', [[], 'invalid_type']],
  [undefined, [[], 'required']],
]
const unknownScope: Case = [
  { scopes: ['send:email', 'send:fax', 'read:keys', '*'] },
  [['scopes', 1], 'invalid_enum'],
  [['scopes', 3], 'invalid_enum'],
]
const misspelled: Case[] = [
  [{ allowed_cidr: ['10.0.0.1'] }, [['allowed_cidr'], 'unrecognized']],
  [{ expires_at: null, scope: [] }, [['expires_at'], 'unrecognized'], [['scope'], 'unrecognized']],
  [{ name: 'fine', revoked_at: null }, [['revoked_at'], 'unrecognized']],
]
const invalidInCreate: Case[] = [
  [{ environment: 'prod' }, [['environment'], 'invalid_enum']],
  [{ environment: null }, [['environment'], 'invalid_enum']],
  [{ project_id: 7 }, [['project_id'], 'invalid_type']],
]
const notPatchable: Case[] = [
  [{ environment: 'live' }, [['environment'], 'unrecognized']],
  [{ project_id: null }, [['project_id'], 'unrecognized']],
]

const expectAll = async (cases: Case[], send: (body: unknown) => ReturnType<KeyClient['create']>) => {
  for (const [body, ...rows] of cases) {
    const errors = rows.map(([path, code]) => ({ path, code, message: expect.any(String) }))
    expectRefusal(await send(body), 'VALIDATION_ERROR', { errors }, JSON.stringify(body))
  }
}

test('X-018 XD-05 creating a key with an invalid field is rejected', () =>
  leavesNoTrace(() => expectAll([...invalidInBoth, ...invalidInCreate], keys.create)))

test('X-018 XD-05 updating a key with an invalid field is rejected', async () => {
  const { id } = await keys.held()
  await leavesNoTrace(() => expectAll(invalidInBoth, (body) => keys.patch(id, body)))
})

test('X-018 XD-01 an unknown scope is rejected with its index in the list', async () => {
  const { id } = await keys.held()
  await leavesNoTrace(() => expectAll([unknownScope], keys.create))
  await leavesNoTrace(() => expectAll([unknownScope], (body) => keys.patch(id, body)))
})

test('X-018 XD-05 an unknown field is rejected by name, so that a misspelled restriction is never ignored', async () => {
  const { id } = await keys.held()
  await leavesNoTrace(() => expectAll(misspelled, keys.create))
  await leavesNoTrace(() => expectAll([...misspelled, ...notPatchable], (body) => keys.patch(id, body)))
})

test('X-019 a tenant, project or domain that does not exist in the org is rejected with its path', async () => {
  const { id } = await keys.held()
  const fieldError = (path: (string | number)[], resource: string) => ({
    path,
    code: 'custom',
    message: `There is no such ${resource}.`,
  })
  const unknownTenants = [newId('tenant'), await t.tenant(elsewhere.org.id), 'ten_x', '']
  const tenants = [...unknownTenants, await t.tenant(acme.org.id, { status: 'erased' })]
  const domains = [newId('domain'), foreign.domainId, 'dom_x', '']
  const cases: [Body, unknown[]][] = [
    ...tenants.map((tenant_id): [Body, unknown[]] => [{ tenant_id }, [fieldError(['tenant_id'], 'tenant')]]),
    ...domains.map((unknown): [Body, unknown[]] => [
      { allowed_domain_ids: [keys.domainId, keys.domainId, unknown, keys.domainId, unknown] },
      [fieldError(['allowed_domain_ids', 2], 'domain'), fieldError(['allowed_domain_ids', 4], 'domain')],
    ]),
    [
      { name: 'both', allowed_domain_ids: [domains[0]], tenant_id: tenants[0] },
      [fieldError(['tenant_id'], 'tenant'), fieldError(['allowed_domain_ids', 0], 'domain')],
    ],
  ]
  for (const [body, errors] of cases) {
    for (const send of [() => keys.create(body), () => keys.patch(id, body)]) {
      expectRefusal(await leavesNoTrace(send), 'VALIDATION_ERROR', { errors }, JSON.stringify(body))
    }
  }
  for (const project_id of [newId('project'), foreign.projectId, 'prj_x', '']) {
    const reply = await leavesNoTrace(() => keys.create({ project_id, tenant_id: tenants[1] }))
    const errors = [fieldError(['tenant_id'], 'tenant'), fieldError(['project_id'], 'project')]
    expectRefusal(reply, 'VALIDATION_ERROR', { errors }, project_id)
  }
})

test('X-019 a key can be bound to a suspended or archived tenant', async () => {
  await resetKeyCreationLimit(t)
  const { id } = await keys.held()
  for (const status of ['suspended', 'archived']) {
    const tenant_id = await t.tenant(acme.org.id, { status })
    const created = await keys.create({ tenant_id })
    expect([created.status, created.body.tenant_id], status).toEqual([201, tenant_id])
    const bound = await keys.patch(id, { tenant_id })
    expect([bound.status, bound.body.tenant_id], status).toEqual([200, tenant_id])
  }
})

test('a response lists at most 100 unknown references', async () => {
  const allowed_domain_ids = Array.from({ length: 100 }, () => newId('domain'))
  const body = { tenant_id: newId('tenant'), project_id: newId('project'), allowed_domain_ids }
  const reply = await leavesNoTrace(() => keys.create(body))
  expect([reply.status, reply.body.error.errors.length]).toEqual([422, 100])
})
