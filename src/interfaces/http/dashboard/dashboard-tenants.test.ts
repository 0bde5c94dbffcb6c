/** Tenants through the dashboard. */
import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { tenantClient } from '../../../../test/clients/tenant-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { iso } from '../../../../test/expect/instants.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const acme = await t.org()
const orgId = acme.org.id
const owner = await primaryOwner(t, orgId)
const developer = await person(t, { orgId, role: 'developer' })
const viewer = await person(t, { orgId, role: 'viewer' })
const tenants = tenantClient(t, acme)

const path = '/api/internal/tenants'

const withEntries = <T>(work: () => Promise<T>) => withTrail(t.database, orgId, work)
const entry = (action: string, id: string, metadata: object | null) =>
  expect.objectContaining({
    actor_user_id: owner.userId,
    action,
    resource_type: 'tenant',
    resource_id: id,
    metadata,
  })

describe('creating and reading', () => {
  test('A-264 AD-110 creates an active tenant with the same result as the API', async () => {
    const fields = { name: ' Acme EU ', slug: 'acme-eu', external_ref: ' Cust-42 ' }
    const { result, trail } = await withEntries(() => owner.ask('POST', path, fields))
    const { id, created_at } = result.body
    const shown = {
      id,
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
    }
    expect([result.status, result.body]).toEqual([201, shown])
    const metadata = { name: 'Acme EU', slug: 'acme-eu', external_ref: 'cust-42' }
    expect(trail).toEqual([entry('tenant.created', id, metadata)])
    expect((await tenants.get(id)).body).toEqual(shown)
    expect((await viewer.ask('GET', `${path}/${id}`)).body).toEqual(shown)
    const byKey = (await tenants.create({ name: ' Acme US ', slug: 'acme-us', external_ref: ' Cust-43 ' })).body
    expect(Object.keys(byKey)).toEqual(Object.keys(shown))
    const rows = await t.database.sql('select org_id, created_environment from tenants where id = any($1)', [
      [id, byKey.id],
    ])
    expect(rows).toEqual([0, 1].map(() => ({ org_id: orgId, created_environment: 'live' })))
  })

  test.each([
    [{ name: 'Other', slug: 'taken' }, 409, 'TENANT_SLUG_CONFLICT'],
    [{ name: 'Other', external_ref: 'TAKEN-REF' }, 409, 'TENANT_EXTERNAL_REF_CONFLICT'],
    [{ name: '' }, 422, 'VALIDATION_ERROR'],
    [{ name: 'x', slug: 'Not A Slug' }, 422, 'VALIDATION_ERROR'],
  ])('AD-110 refuses to create %o with the codes of the API', async (body, status, code) => {
    await tenants.create({ name: 'Taken', slug: 'taken', external_ref: 'taken-ref' })
    const reply = await leavesNoTrace(() => owner.ask('POST', path, body))
    expect([reply.status, reply.body.code]).toEqual([status, code])
  })

  test('AD-110 the plan limits tenants', async () => {
    const small = await t.org({ plan: 'free' })
    const its = await primaryOwner(t, small.org.id)
    for (const name of ['a', 'b', 'c']) expect((await its.ask('POST', path, { name })).status).toBe(201)
    const reply = await leavesNoTrace(() => its.ask('POST', path, { name: 'd' }))
    expect([reply.status, reply.body]).toEqual([
      402,
      { error: 'The free plan allows 3 tenants.', code: 'PLAN_RESOURCE_LIMIT' },
    ])
  })

  test('AD-06 AD-110 a viewer lists tenants newest first, by status and by reference', async () => {
    const own = await t.org()
    const reader = await person(t, { orgId: own.org.id, role: 'viewer' })
    const theirs = tenantClient(t, own)
    const active = await theirs.made('active', { external_ref: 'Ref-1' })
    const suspended = await theirs.made('suspended')
    const erased = await theirs.made('erased')
    const ids = async (query: string) =>
      (await reader.ask('GET', `${path}?${query}`)).body.data.map(({ id }: { id: string }) => id)
    expect(await ids('')).toEqual([suspended, active])
    expect(await ids('status=&external_ref=')).toEqual([suspended, active])
    expect(await ids('status=erased')).toEqual([erased])
    expect(await ids('external_ref=%20REF-1')).toEqual([active])
    const first = await reader.ask('GET', `${path}?limit=1`)
    expect([first.body.data.length, first.body.has_more]).toEqual([1, true])
    expect(await ids(`limit=1&cursor=${first.body.next_cursor}`)).toEqual([active])
    const long = await reader.ask('GET', `${path}?external_ref=${'x'.repeat(201)}`)
    expect([long.status, long.body.code]).toEqual([422, 'INVALID_EXTERNAL_REF'])
    expect((await reader.ask('GET', `${path}?status=gone`)).status).toBe(422)
  })

  test('A search finds tenants by a part of the name, the slug, the reference or the id, and goes on at its cursor', async () => {
    const own = await t.org()
    const reader = await person(t, { orgId: own.org.id, role: 'viewer' })
    const make = async (name: string, more: object = {}): Promise<string> =>
      (await t.ask('POST', '/api/v1/tenants', { key: own.keys.live, body: { name, ...more } })).body.id
    const first = await make('Nordic Shoes', { slug: 'shop-one' })
    const second = await make('Acme', { external_ref: 'NORDIC-7' })
    const third = await make('Else')
    await tenantClient(t, own).made('erased')
    const found = async (query: string) => {
      const { body } = await reader.ask('GET', `${path}?${query}`)
      return [body.data.map(({ id }: { id: string }) => id), body.next_cursor]
    }
    expect(await found('q=nordic')).toEqual([[second, first], null])
    expect(await found('q=SHOP-ONE')).toEqual([[first], null])
    expect(await found(`q=${third}`)).toEqual([[third], null])
    expect(await found('q=%25')).toEqual([[], null])
    expect(await found('q=')).toEqual([[third, second, first], null])
    const [[newest], cursor] = await found('q=nordic&limit=1')
    expect([newest, await found(`q=nordic&limit=1&cursor=${cursor}`)]).toEqual([second, [[first], null]])
  })

  test('AD-110 shows the usage of a month, of live messages or of test messages', async () => {
    const id = await tenants.made()
    await tenants.quota(id, { email_monthly: 100 })
    const usage = await viewer.ask('GET', `${path}/${id}/usage`)
    expect([usage.status, usage.body]).toEqual([200, (await tenants.usage(id)).body])
    expect(usage.body).toMatchObject({ tenant_id: id, environment: 'live', email: { used: 0, limit: 100 } })
    const testUsage = await viewer.ask('GET', `${path}/${id}/usage?environment=test`)
    expect(testUsage.body).toEqual((await tenants.usage(id, '', acme.keys.test)).body)
    const bad = await viewer.ask('GET', `${path}/${id}/usage?period=1999-01`)
    expect([bad.status, bad.body.errors[0].path]).toEqual([422, ['period']])
  })
})

describe('changing', () => {
  test('AD-110 changes name and reference, and the quotas', async () => {
    const id = await tenants.made('active', { name: 'Old', external_ref: 'old' })
    const { result, trail } = await withEntries(() => owner.ask('PATCH', `${path}/${id}`, { name: 'New' }))
    expect([result.status, result.body]).toEqual([200, (await tenants.get(id)).body])
    expect(result.body).toMatchObject({ name: 'New', external_ref: 'old' })
    const change = { old: { name: 'Old', external_ref: 'old' }, new: { name: 'New', external_ref: 'old' } }
    expect(trail).toEqual([entry('tenant.updated', id, change)])

    const quota = await withEntries(() => owner.ask('PATCH', `${path}/${id}/quota`, { email_monthly: 5 }))
    expect([quota.result.status, quota.result.body]).toEqual([
      200,
      { tenant_id: id, email_monthly: 5, sms_monthly: null, updated_at: iso },
    ])
    const none = { email_monthly: null, sms_monthly: null }
    expect(quota.trail).toEqual([entry('tenant.quota_updated', id, { old: none, new: { ...none, email_monthly: 5 } })])
  })

  test('A-271 unsuspends a suspended tenant, once', async () => {
    const id = await tenants.made('suspended')
    const unsuspend = () => owner.ask('PATCH', `${path}/${id}`, { action: 'unsuspend' })
    const { result, trail } = await withEntries(unsuspend)
    expect([result.status, result.body]).toEqual([200, (await tenants.get(id)).body])
    expect(result.body).toMatchObject({ status: 'active', suspended_at: null })
    expect(trail).toEqual([entry('tenant.unsuspended', id, null)])
    const again = await leavesNoTrace(unsuspend)
    expect([again.status, again.body.code]).toEqual([409, 'TENANT_NOT_SUSPENDED'])
    const erased = await tenants.made('erased')
    const late = await leavesNoTrace(() => owner.ask('PATCH', `${path}/${erased}`, { action: 'unsuspend' }))
    expect([late.status, late.body.code]).toEqual([409, 'TENANT_ERASED'])
  })

  test.each([
    [{ action: 'suspend' }, ['action']],
    [{ action: 'restore' }, ['action']],
    [{ action: 'erase' }, ['action']],
    [{ action: null }, ['action']],
    [{ action: 'unsuspend', name: 'Both' }, ['action']],
    [{ name: '' }, ['name']],
  ])('A-271 AD-110 refuses the change %o', async (body, at) => {
    const id = await tenants.made('suspended')
    const reply = await leavesNoTrace(() => owner.ask('PATCH', `${path}/${id}`, body))
    expect([reply.status, reply.body.code, reply.body.errors[0].path]).toEqual([422, 'VALIDATION_ERROR', at])
  })

  test('AD-110 refuses a change without fields', async () => {
    const id = await tenants.made()
    for (const [at, body] of [
      ['', { slug: 'other' }],
      ['/quota', {}],
    ] as const) {
      const reply = await leavesNoTrace(() => owner.ask('PATCH', `${path}/${id}${at}`, body))
      expect([reply.status, reply.body.code], at).toEqual([422, 'NO_FIELDS'])
    }
  })

  test('A-273 archives an active tenant and cancels its scheduled messages', async () => {
    const id = await tenants.made('active', { external_ref: 'archived-one' })
    const sent = await t.ask('POST', '/api/v1/emails', {
      key: acme.keys.test,
      headers: { 'x-service-tenant-ref': 'archived-one' },
      body: {
        from: 'a@shop.test',
        to: ['ada@example.com'],
        subject: 'Hi',
        text: 'Hi',
        scheduled_at: new Date(t.service.clock.millis() + 3_600_000).toISOString(),
      },
    })
    expect(sent.status, sent.text).toBe(200)
    const { result, trail } = await withEntries(() => owner.ask('DELETE', `${path}/${id}`))
    expect([result.status, result.body]).toEqual([200, (await tenants.get(id)).body])
    expect(result.body).toMatchObject({ status: 'archived', archived_at: iso })
    expect(trail).toEqual([entry('tenant.archived', id, { canceled_messages: 1 })])
    const rows = await t.database.sql('select status, error_message from messages where tenant_id = $1', [id])
    expect(rows).toEqual([{ status: 'canceled', error_message: 'Tenant archived' }])
  })

  test.each(['suspended', 'archived', 'erased'] as const)(
    'A-353 archiving a tenant that is %s is TENANT_NOT_ACTIVE on both surfaces and changes nothing',
    async (state) => {
      const id = await tenants.made(state)
      const reply = await leavesNoTrace(() => owner.ask('DELETE', `${path}/${id}`))
      expect([reply.status, reply.body.code]).toEqual([409, 'TENANT_NOT_ACTIVE'])
      const byKey = await leavesNoTrace(() => tenants.move('archive', id))
      expect([byKey.status, byKey.body.error]).toMatchObject([
        409,
        { code: 'TENANT_NOT_ACTIVE', message: reply.body.error },
      ])
    },
  )
})

describe('reach', () => {
  test('A-054 A-271 A-273 only an owner changes tenants, and every member reads them', async () => {
    const id = await tenants.made('suspended')
    const member = await person(t, { orgId, role: 'member' })
    await leavesNoTrace(async () => {
      for (const who of [developer, member, viewer]) {
        expect((await who.ask('GET', `${path}/${id}`)).status).toBe(200)
        for (const [method, url, body] of [
          ['POST', path, { name: 'New' }],
          ['PATCH', `${path}/${id}`, { action: 'unsuspend' }],
          ['PATCH', `${path}/${id}`, { name: 'New' }],
          ['PATCH', `${path}/${id}/quota`, { email_monthly: 1 }],
          ['DELETE', `${path}/${id}`],
        ] as const) {
          const reply = await who.ask(method, url, body)
          expect([reply.status, reply.body], method).toEqual([403, { error: 'Owner role required' }])
        }
      }
    })
  })

  test('A-030 a tenant of another org cannot be reached', async () => {
    const other = await t.org()
    const id = await tenantClient(t, other).made()
    const foreign = { table: 'tenants', orgId: other.org.id, id, unknownId: newId('tenant') }
    await expectOutOfReach(t, owner, foreign, (ten) => [
      ['GET', `${path}/${ten}`],
      ['GET', `${path}/${ten}/usage`],
      ['PATCH', `${path}/${ten}`, { name: 'Mine' }],
      ['PATCH', `${path}/${ten}`, { action: 'unsuspend' }],
      ['PATCH', `${path}/${ten}/quota`, { email_monthly: 0 }],
      ['DELETE', `${path}/${ten}`],
    ])
  })
})
