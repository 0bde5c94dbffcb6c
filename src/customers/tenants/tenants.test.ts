import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tenantEntry as entry, withTrail } from '../../../test/audit/trail.ts'
import { keyIdOf } from '../../../test/clients/key-client.ts'
import { type TenantClient, tenantClient } from '../../../test/clients/tenant-client.ts'
import { iso, tick } from '../../../test/expect/instants.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { type Reply, startTestService, type TestService } from '../../../test/service/service.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import { newId } from '../../platform/ground/ids.ts'
import { scopes } from '../keys/scopes.ts'
import { tenantStatuses } from './shapes.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const { live, test: testKey } = acme.keys
const { create, get, list, patch, quota, made } = tenantClient(t, acme)
const leavesNoTrace = await watchTables(t.database)
const liveKeyId = await keyIdOf(t, live)
const byKey = { via: 'api_key', api_key_id: liveKeyId }
const recordTrail = <T>(work: () => Promise<T>) => withTrail(t.database, acme.org.id, work)

describe('creating', () => {
  test('A-256 A-263 A-169 AD-100 creating a tenant returns it as active and writes one audit entry', async () => {
    const { result: reply, trail } = await recordTrail(() =>
      create({ name: '  Acme EU ', slug: 'acme-eu', external_ref: ' Cust-42 ' }),
    )
    const { id, created_at } = reply.body
    expect([reply.status, reply.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^ten_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
        slug: 'acme-eu',
        name: 'Acme EU',
        external_ref: 'cust-42',
        status: 'active',
        quotas: { email_monthly: null, sms_monthly: null },
        created_at: iso,
        updated_at: created_at,
        suspended_at: null,
        archived_at: null,
        erased_at: null,
      },
    ])
    expect(await get(id)).toMatchObject({ status: 200, body: reply.body })
    const metadata = { name: 'Acme EU', slug: 'acme-eu', external_ref: 'cust-42', ...byKey }
    expect(trail).toEqual([entry('tenant.created', id, metadata)])
    const rows = await t.database.sql('select org_id, created_environment from tenants where id = $1', [id])
    expect(rows).toEqual([{ org_id: acme.org.id, created_environment: 'live' }])
  })

  test.each([
    ['Acme & Söhne, Wien', 'acme-sohne-wien'],
    ['--- Trimmed ---', 'trimmed'],
    ['漢字', 'tenant'],
    ['0'.repeat(120), '0'.repeat(48)],
    [`${'a'.repeat(47)} b`, 'a'.repeat(47)],
  ])('AD-100 without a slug, one is derived from the name: %s becomes %s', async (name, slug) => {
    expect((await create({ name })).body).toMatchObject({ name, slug, external_ref: null })
  })

  test('AD-100 concurrent tenants with the same name get the derived slug once, and then with a six-character suffix', async () => {
    for (const [name, plain] of [
      ['Same Name', 'same-name'],
      [`Long ${'x'.repeat(60)}`, `long-${'x'.repeat(43)}`],
    ] as const) {
      const replies = await Promise.all(Array.from({ length: 8 }, () => create({ name })))
      const slugs = replies.map((reply) => reply.body.slug as string)
      expect(replies.map((reply) => reply.status)).toEqual(new Array(8).fill(201))
      expect(new Set(slugs).size).toBe(8)
      expect(slugs.filter((slug) => slug === plain)).toHaveLength(1)
      for (const slug of slugs.filter((slug) => slug !== plain)) {
        expect(slug).toMatch(new RegExp(`^${plain.slice(0, 41)}-[0-9a-z]{6}$`))
      }
    }
  })

  test('A-257 A-266 X-262 a slug that is taken in the org is refused, but another org can use it', async () => {
    const { body: first } = await create({ name: 'First', slug: 'taken' })
    await leavesNoTrace(async () =>
      expectRefusal(await create({ name: 'Second', slug: 'taken' }), 'TENANT_SLUG_CONFLICT'),
    )
    const other = await t.org({ name: 'Elsewhere' })
    const { body } = await create({ name: 'Third', slug: 'taken' }, other.keys.live)
    expect([body.slug, body.id === first.id]).toEqual(['taken', false])
    for (const state of ['suspended', 'archived'] as const) {
      await made(state, { slug: `taken-${state}` })
      expectRefusal(await create({ name: 'x', slug: `taken-${state}` }), 'TENANT_SLUG_CONFLICT')
    }
  })

  test('A-258 several tenants of an org can have no external_ref', async () => {
    const replies = [
      await create({ name: 'None' }),
      await create({ name: 'None', external_ref: null }),
      await create({ name: 'None', external_ref: null }),
    ]
    expect(replies.map(({ status, body }) => [status, body.external_ref])).toEqual(new Array(3).fill([201, null]))
  })

  test.each([
    ['Acme-Ref', 'acme-ref', 'ACME-REF'],
    ['Ärzte Köln', 'ärzte köln', 'ÄRZTE KÖLN'],
    ['ΑΘΗΝΑ', 'αθηνα', 'αθηνΑ'],
    ['Größe', 'größe', 'GRÖßE'],
  ])(
    'A-259 A-260 AD-100 external_ref %s is stored as %s, and %s refers to the same tenant',
    async (ref, stored, again) => {
      const { body } = await create({ name: 'Refs', external_ref: ref })
      expect(body.external_ref).toBe(stored)
      const rows = await t.database.sql('select external_ref from tenants where id = $1', [body.id])
      expect(rows).toEqual([{ external_ref: stored }])
      const free = await made()
      await leavesNoTrace(async () => {
        expectRefusal(await create({ name: 'Again', external_ref: again }), 'TENANT_EXTERNAL_REF_CONFLICT')
        expectRefusal(await patch(free, { external_ref: again }), 'TENANT_EXTERNAL_REF_CONFLICT')
      })
      const found = await list(`?external_ref=${encodeURIComponent(again)}`)
      expect(found.body.data.map((row: { id: string }) => row.id)).toEqual([body.id])
      const seen = await t.ask('GET', '/api/v1/usage', {
        key: live,
        headers: { 'x-service-tenant-ref': Buffer.from(again).toString('latin1') },
      })
      expect(seen.body.tenant_id).toBe(body.id)
    },
  )

  test('A-260 AD-100 of concurrent creations with the same external_ref one succeeds, and another org can use it too', async () => {
    const { result: replies, trail } = await recordTrail(() =>
      Promise.all(['Racing', 'RACING', 'racinG'].map((external_ref) => create({ name: 'Race', external_ref }))),
    )
    expect(replies.map((reply) => reply.status).sort()).toEqual([201, 409, 409])
    for (const reply of replies.filter(({ status }) => status === 409)) {
      expectRefusal(reply, 'TENANT_EXTERNAL_REF_CONFLICT')
    }
    expect(trail).toHaveLength(1)
    const other = await t.org({ name: 'Free to use' })
    expect((await create({ name: 'Race', external_ref: 'racing' }, other.keys.live)).status).toBe(201)
  })

  const tooLong = 'x'.repeat(201)
  test.each([
    [undefined, []],
    [{}, ['name']],
    [{ name: '' }, ['name']],
    [{ name: '   ' }, ['name']],
    [{ name: 'x'.repeat(121) }, ['name']],
    [{ name: 7 }, ['name']],
    [{ name: null }, ['name']],
    [{ name: 'x', slug: '' }, ['slug']],
    [{ name: 'x', slug: 'Upper' }, ['slug']],
    [{ name: 'x', slug: 'under_score' }, ['slug']],
    [{ name: 'x', slug: 'x'.repeat(49) }, ['slug']],
    [{ name: 'x', slug: null }, ['slug']],
    [{ name: 'x', external_ref: '' }, ['external_ref']],
    [{ name: 'x', external_ref: '  ' }, ['external_ref']],
    [{ name: 'x', external_ref: tooLong }, ['external_ref']],
    [{ name: 'x', external_ref: 42 }, ['external_ref']],
  ])('AD-100 %j is rejected at %j', async (body, path) => {
    const reply = await leavesNoTrace(() => create(body))
    const [row] = reply.body.error.errors
    expectRefusal(reply, 'VALIDATION_ERROR', { errors: [row] })
    expect(row).toEqual({ path, code: expect.any(String), message: expect.any(String) })
  })

  test('X-358 AD-100 a name of 120 and a reference of 200 characters are accepted, and one of 201 is not', async () => {
    const { status, body } = await create({ name: 'x'.repeat(120), external_ref: '😀'.repeat(200) })
    expect([status, body.name, body.external_ref]).toEqual([201, 'x'.repeat(120), '😀'.repeat(200)])
    expect((await patch(body.id, { external_ref: 'é'.repeat(200) })).body.external_ref).toBe('é'.repeat(200))
    const refused = { errors: [{ path: ['external_ref'], code: 'custom', message: expect.any(String) }] }
    for (const external_ref of ['😀'.repeat(201), ` ${'x'.repeat(201)} `]) {
      const replies = await leavesNoTrace(() =>
        Promise.all([create({ name: 'x', external_ref }), patch(body.id, { external_ref })]),
      )
      for (const reply of replies) expectRefusal(reply, 'VALIDATION_ERROR', refused)
    }
  })

  test('X-279 the plan limits active and suspended tenants, also for concurrent creations, but not archived ones', async () => {
    const free = await t.org({ plan: 'free', name: 'Small' })
    const client = tenantClient(t, free)
    const replies = await Promise.all(Array.from({ length: 6 }, (_, i) => client.create({ name: `T${i}` })))
    expect(replies.map((reply) => reply.status).sort()).toEqual([201, 201, 201, 402, 402, 402])
    const full = { message: 'The free plan allows 3 tenants.' }
    const byRef = () =>
      t.ask('GET', '/api/v1/usage', { key: free.keys.live, headers: { 'x-service-tenant-ref': 'fourth' } })
    for (const reply of replies.filter(({ status }) => status === 402)) {
      expectRefusal(reply, 'PLAN_RESOURCE_LIMIT', full)
    }
    const ids = replies.filter(({ status }) => status === 201).map((reply) => reply.body.id as string)
    await client.move('suspend', ids[0] as string)
    await leavesNoTrace(async () => {
      expectRefusal(await client.create({ name: 'Fourth' }), 'PLAN_RESOURCE_LIMIT', full)
      expectRefusal(await byRef(), 'PLAN_RESOURCE_LIMIT', full)
    })
    await client.move('archive', ids[1] as string)
    expect((await client.create({ name: 'Fourth' })).status).toBe(201)
    expectRefusal(await client.create({ name: 'Fifth' }), 'PLAN_RESOURCE_LIMIT', full)
    await client.move('erase', ids[0] as string)
    expect((await byRef()).status).toBe(200)
  })

  test('AD-102 AD-103 a tenant key cannot create tenants, and a test key can create and change its own', async () => {
    const tenantKey = await t.key(acme.org.id, { tenantId: await made() })
    await leavesNoTrace(async () =>
      expectRefusal(await create({ name: 'x' }, tenantKey), 'TENANT_KEY_CANNOT_CREATE_TENANTS'),
    )
    const { body } = await create({ name: 'By test' }, testKey)
    expect(body.status).toBe('active')
    expect((await get(body.id)).body).toEqual(body)
    expect((await patch(body.id, { name: 'Renamed' }, testKey)).body.name).toBe('Renamed')
    expect((await quota(body.id, { sms_monthly: 1 }, testKey)).status).toBe(200)
  })
})

describe('by reference', () => {
  const withRef = (ref: string, key = live, service: TestService = t) =>
    service.ask('GET', '/api/v1/usage', {
      key,
      headers: { 'x-service-tenant-ref': Buffer.from(ref).toString('latin1') },
    })

  test('A-265 A-169 AD-101 the first request with an unknown reference creates an active tenant', async () => {
    const { result: reply, trail } = await recordTrail(() => withRef('  Neu Kunde #7 '))
    const id = reply.body.tenant_id
    expect(reply.status).toBe(200)
    expect((await get(id)).body).toEqual({
      id: expect.stringMatching(/^ten_/),
      slug: 'neu-kunde-7',
      name: 'Neu Kunde #7',
      external_ref: 'neu kunde #7',
      status: 'active',
      quotas: { email_monthly: null, sms_monthly: null },
      created_at: iso,
      updated_at: iso,
      suspended_at: null,
      archived_at: null,
      erased_at: null,
    })
    const metadata = { name: 'Neu Kunde #7', slug: 'neu-kunde-7', external_ref: 'neu kunde #7', ...byKey }
    expect(trail).toEqual([entry('tenant.created', id, metadata)])
    expect((await recordTrail(() => withRef('NEU KUNDE #7'))).trail).toEqual([])
  })

  test('A-265 AD-101 concurrent first requests in several processes create one tenant and one audit entry', async () => {
    const second = await startTestService({ database: t.database })
    try {
      const { result: replies, trail } = await recordTrail(() =>
        Promise.all(Array.from({ length: 30 }, (_, i) => withRef('Herd', live, i % 2 ? t : second))),
      )
      expect(new Set(replies.map((reply) => `${reply.status} ${reply.body.tenant_id}`)).size).toBe(1)
      expect(trail).toEqual([entry('tenant.created', replies[0]?.body.tenant_id, expect.anything())])
    } finally {
      await second.stop()
    }
  })

  test('A-260 two spellings select the same tenants by header and by filter, whichever came first', async () => {
    const [capitals, small] = ['ΑΘΗΝΑΣ', 'αθηνας']
    for (const ref of [capitals, capitals, small, small, capitals]) {
      const { body } = await withRef(ref)
      const { data } = (await list(`?external_ref=${encodeURIComponent(ref)}`)).body
      expect(data.map((row: { id: string }) => row.id)).toEqual([body.tenant_id])
    }
  })

  test('AD-101 a test key can create a tenant by reference, and a live key finds it', async () => {
    const { body } = await withRef('from-test', testKey)
    expect((await withRef('FROM-TEST')).body.tenant_id).toBe(body.tenant_id)
    const rows = await t.database.sql('select created_environment from tenants where id = $1', [body.tenant_id])
    expect(rows).toEqual([{ created_environment: 'test' }])
  })

  test.each([
    ['A-284', 'suspended'],
    ['A-285', 'archived'],
  ] as const)(
    '%s a reference to a tenant that is %s is refused and does not create another tenant',
    async (_, state) => {
      const id = await made(state, { external_ref: `Idle-${state}` })
      await leavesNoTrace(async () => {
        expectRefusal(await withRef(`idle-${state}`), 'TENANT_NOT_USABLE')
        expectRefusal(await withRef(`IDLE-${state}`, testKey), 'TENANT_NOT_USABLE')
      })
      expect((await get(id)).body.status).toBe(state)
    },
  )
})

describe('reading', () => {
  let org: CreatedOrg
  let reader: TenantClient
  /** Newest first, including one suspended, one archived and one erased tenant. */
  const ids: string[] = []
  let shown: string[]

  beforeAll(async () => {
    org = await t.org({ name: 'Reader' })
    reader = tenantClient(t, org)
    for (let i = 0; i < 7; i++) {
      const { body } = await reader.create({ name: `T${i}`, external_ref: `Ref-${i}` })
      ids.unshift(body.id)
    }
    const [, suspended, archived, erased] = ids as [string, string, string, string]
    for (const id of [suspended, erased]) await reader.move('suspend', id)
    await reader.move('archive', archived)
    await reader.move('erase', erased)
    shown = ids.filter((id) => id !== erased)
  })

  const idsOf = (reply: Reply) => reply.body.data.map((row: { id: string }) => row.id)

  test('A-286 AD-108 the pages list all tenants of the org once, newest first, without erased ones', async () => {
    for (const limit of [1, 2, 5, 6, 100]) {
      const seen: string[] = []
      for (let cursor = ''; ; ) {
        const reply = await reader.list(`?limit=${limit}&cursor=${cursor}`)
        expect(Object.keys(reply.body)).toEqual(['data', 'has_more', 'next_cursor'])
        seen.push(...idsOf(reply))
        if (!reply.body.has_more) break
        cursor = reply.body.next_cursor
      }
      expect(seen, String(limit)).toEqual(shown)
    }
    const { body } = await reader.list('?limit=1')
    expect(body.data).toEqual([(await reader.get(ids[0] as string)).body])
    expectRefusal(await reader.list('?cursor=wrong'), 'INVALID_CURSOR')
  })

  test('A-287 the external_ref filter is case-insensitive', async () => {
    expect(idsOf(await reader.list('?external_ref=ref-0'))).toEqual([ids[6]])
    expect(idsOf(await reader.list('?external_ref=%20REF-0%20'))).toEqual([ids[6]])
    expect(idsOf(await reader.list('?external_ref=ref-3&status=erased'))).toEqual([])
    expect(idsOf(await reader.list('?external_ref=none'))).toEqual([])
  })

  test.each(['', '%20', 'x'.repeat(201)])('AD-104 the filter external_ref=%s is rejected', async (text) => {
    expectRefusal(await reader.list(`?external_ref=${text}`), 'INVALID_EXTERNAL_REF')
  })

  test('A-261 AD-104 AD-108 the list can be filtered by status, which is the only way to list erased tenants', async () => {
    const by = async (status: string) => idsOf(await reader.list(`?status=${status}`))
    expect(await by('active')).toEqual([ids[0], ids[4], ids[5], ids[6]])
    expect(await by('suspended')).toEqual([ids[1]])
    expect(await by('archived')).toEqual([ids[2]])
    expect(await by('erased')).toEqual([ids[3]])
    expect([...tenantStatuses]).toEqual(['active', 'suspended', 'archived', 'erased'])
    const reply = await reader.list('?status=gone')
    expectRefusal(reply, 'VALIDATION_ERROR', {
      errors: [{ path: ['status'], code: 'invalid_enum', message: expect.any(String) }],
    })
  })

  test('A-288 AD-108 a tenant can be read by id, also when it is erased, but not from another org', async () => {
    expect((await reader.get(ids[6] as string)).body).toMatchObject({ name: 'T0', external_ref: 'ref-0' })
    expect((await reader.get(ids[3] as string)).body).toMatchObject({
      id: ids[3],
      status: 'erased',
      external_ref: null,
      erased_at: iso,
    })
    for (const id of [newId('tenant'), 'ten_x', newId('key'), ids[0] as string]) {
      expectRefusal(await get(id), 'NOT_FOUND')
    }
  })

  test('AD-102 a tenant key can read only its own tenant', async () => {
    const [own, other] = [ids[0] as string, ids[4] as string]
    const key = await t.key(org.org.id, { tenantId: own })
    expect(idsOf(await reader.list('', key))).toEqual([own])
    expect(idsOf(await reader.list('?external_ref=ref-2', key))).toEqual([])
    expect((await reader.get(own, key)).body.id).toBe(own)
    expectRefusal(await reader.get(other, key), 'TENANT_FORBIDDEN')
    expectRefusal(await reader.get(newId('tenant'), key), 'NOT_FOUND')
  })

  test('AD-102 each route requires its scope, and usage accepts either of two', async () => {
    const id = ids[0] as string
    const without = async (...left: string[]) =>
      t.key(org.org.id, { scopes: scopes.filter((name) => !left.includes(name)) })
    const noRead = await without('read:tenants')
    const noWrite = await without('write:tenants')
    expectRefusal(await reader.list('', noRead), 'INSUFFICIENT_SCOPE')
    expectRefusal(await reader.get(id, noRead), 'INSUFFICIENT_SCOPE')
    await leavesNoTrace(async () => {
      expectRefusal(await reader.create({ name: 'x' }, noWrite), 'INSUFFICIENT_SCOPE')
      expectRefusal(await reader.patch(id, { name: 'x' }, noWrite), 'INSUFFICIENT_SCOPE')
      expectRefusal(await reader.quota(id, { sms_monthly: 1 }, noWrite), 'INSUFFICIENT_SCOPE')
      for (const name of ['suspend', 'unsuspend', 'archive', 'restore', 'erase'] as const) {
        expectRefusal(await reader.move(name, id, noWrite), 'INSUFFICIENT_SCOPE')
      }
    })
    expect((await reader.usage(id, '', noRead)).status).toBe(200)
    expect((await reader.usage(id, '', await without('read:usage'))).status).toBe(200)
    expectRefusal(await reader.usage(id, '', await without('read:usage', 'read:tenants')), 'INSUFFICIENT_SCOPE')
  })
})

describe('updating', () => {
  test('AD-104 AD-99 name and external_ref can be updated, and the audit entry has the old and new values', async () => {
    const id = await made('active', { name: 'Old', slug: 'stays', external_ref: 'old-ref' })
    const before = (await get(id)).body
    await tick(t.service.clock)
    const { result: named, trail } = await recordTrail(() => patch(id, { name: ' New ' }))
    expect([named.status, named.body]).toEqual([200, { ...before, name: 'New', updated_at: iso }])
    expect(named.body.updated_at > before.updated_at).toBe(true)
    expect((await get(id)).body).toEqual(named.body)
    const oldAndNew = (old: object, now: object) => ({ old, new: now, ...byKey })
    expect(trail).toEqual([
      entry(
        'tenant.updated',
        id,
        oldAndNew({ name: 'Old', external_ref: 'old-ref' }, { name: 'New', external_ref: 'old-ref' }),
      ),
    ])
    expect((await patch(id, { external_ref: ' NEW-ref ' })).body).toMatchObject({
      name: 'New',
      external_ref: 'new-ref',
      slug: 'stays',
    })
    expect((await patch(id, { external_ref: null })).body).toMatchObject({ name: 'New', external_ref: null })
    expect((await patch(id, { external_ref: 'New-Ref', name: 'Both' })).body).toMatchObject({
      name: 'Both',
      external_ref: 'new-ref',
    })
    // The tenant's own reference in another case is not a conflict.
    expect((await patch(id, { external_ref: 'NEW-REF' })).status).toBe(200)
  })

  test('AD-104 other fields are ignored, and an update with only such fields is rejected', async () => {
    const id = await made()
    const others = { slug: 'other', status: 'archived', id: 'ten_x', quotas: { email_monthly: 1 } }
    expectRefusal(await leavesNoTrace(() => patch(id, others)), 'NO_FIELDS')
    const before = (await get(id)).body
    const renamed = await patch(id, { name: 'Renamed', ...others })
    expect(renamed.body).toEqual({ ...before, name: 'Renamed', updated_at: expect.any(String) })
  })

  test.each([
    [{ name: '' }, ['name']],
    [{ name: null }, ['name']],
    [{ name: 'x'.repeat(121) }, ['name']],
    [{ external_ref: ' ' }, ['external_ref']],
    [{ external_ref: 'x'.repeat(201) }, ['external_ref']],
  ])('AD-104 the update %j is rejected at %j', async (body, path) => {
    const id = await made()
    const reply = await leavesNoTrace(() => patch(id, body))
    expectRefusal(reply, 'VALIDATION_ERROR', {
      errors: [{ path, code: expect.any(String), message: expect.any(String) }],
    })
  })

  test('AD-102 AD-103 AD-108 tenant keys, and test keys on live tenants, cannot update a tenant, and erased ones are final', async () => {
    const id = await made()
    const erased = await made('erased')
    const tenantKey = await t.key(acme.org.id, { tenantId: id })
    await leavesNoTrace(async () => {
      for (const change of [
        (to: string, key?: string) => patch(to, { name: 'x' }, key),
        (to: string, key?: string) => patch(to, { external_ref: 'x' }, key),
        (to: string, key?: string) => quota(to, { email_monthly: 1 }, key),
      ]) {
        expectRefusal(await change(id, tenantKey), 'TENANT_KEY_FORBIDDEN')
        expectRefusal(await change(id, testKey), 'ENVIRONMENT_ESCALATION')
        expectRefusal(await change(erased), 'TENANT_ERASED')
        expectRefusal(await change(newId('tenant')), 'NOT_FOUND')
      }
    })
  })
})
