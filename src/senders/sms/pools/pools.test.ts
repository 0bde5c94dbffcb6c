import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { keyIdOf } from '../../../../test/clients/key-client.ts'
import { freshSlug, poolClient } from '../../../../test/clients/pool-client.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const acme = await t.org()
const { live, test: testKey } = acme.keys
const orgId = acme.org.id
const pools = poolClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const fault = (path: (string | number)[], message: string) => ({ errors: [{ path, code: 'custom', message }] })
const idsOf = ({ body }: Reply): string[] => body.data.map((row: { id: string }) => row.id)
const body = (phone_number_ids: string[], more: object = {}) => ({
  slug: freshSlug(),
  name: 'Codes',
  phone_number_ids,
  ...more,
})

describe('routes', () => {
  test('A-174 A-175 A-176 XD-28 a pool is created, read, changed and deleted, with an audit entry for each change', async () => {
    const [first, second, third] = [await pools.sender(), await pools.sender(), await pools.sender()]
    const keyId = await keyIdOf(t, live)
    const { result: pool, trail } = await withTrail(t.database, orgId, async () => {
      const created = await pools.create({ slug: 'otp', name: 'OTP numbers', phone_number_ids: [second, first] })
      const shown = {
        id: expect.stringMatching(/^pol_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
        slug: 'otp',
        name: 'OTP numbers',
        tenant_id: null,
        phone_number_ids: [second, first],
        created_at: instant,
        updated_at: instant,
      }
      expect([created.status, created.body]).toEqual([201, shown])
      const { id } = created.body
      const read = await pools.get(id)
      expect([read.status, read.body]).toEqual([200, created.body])
      const changed = await pools.patch(id, { phone_number_ids: [third, second, third], slug: undefined })
      expect([changed.status, changed.body]).toEqual([
        200,
        { ...created.body, phone_number_ids: [third, second], updated_at: instant },
      ])
      const renamed = await pools.patch(id, { name: 'Codes' })
      expect([renamed.status, renamed.body]).toEqual([200, { ...changed.body, name: 'Codes', updated_at: instant }])
      const removed = await pools.remove(id)
      expect([removed.status, removed.body]).toEqual([200, { id, deleted: true }])
      expectRefusal(await pools.get(id), 'NOT_FOUND')
      return id
    })
    const by = { api_key_id: keyId, via: 'api_key', slug: 'otp', tenant_id: null }
    expect(trail).toMatchObject([
      { action: 'pool.created', metadata: { ...by, name: 'OTP numbers', phone_number_ids: [second, first] } },
      { action: 'pool.updated', metadata: { ...by, name: 'OTP numbers', phone_number_ids: [third, second] } },
      { action: 'pool.updated', metadata: { ...by, name: 'Codes', phone_number_ids: [third, second] } },
      { action: 'pool.removed', metadata: { ...by, name: 'Codes', phone_number_ids: [third, second] } },
    ])
    for (const entry of trail) expect(entry).toMatchObject({ resource_type: 'pool', resource_id: pool })
    const rows = await t.database.sql('select 1 from phone_numbers where id = any($1)', [[first, second, third]])
    expect(rows).toHaveLength(3)
  })

  test('R-52 a patch without a field is NO_FIELDS, and one of an unknown pool NOT_FOUND', async () => {
    const id = await pools.made()
    await leavesNoTrace(async () => {
      expectRefusal(await pools.patch(id, {}), 'NO_FIELDS')
      expectRefusal(await pools.patch(newId('pool'), { name: 'x' }), 'NOT_FOUND')
    })
  })

  test('XD-28 a pool has 1 to 100 members', async () => {
    const id = await pools.made()
    const many = await Promise.all(Array.from({ length: 100 }, () => pools.sender()))
    const full = await pools.patch(id, { phone_number_ids: many })
    expect([full.status, full.body.phone_number_ids]).toEqual([200, many])
    await leavesNoTrace(async () => {
      for (const phone_number_ids of [[], [...many, newId('phoneNumber')]]) {
        for (const reply of [await pools.create(body(phone_number_ids)), await pools.patch(id, { phone_number_ids })]) {
          expect([reply.status, reply.body.error.code, reply.body.error.errors[0].path]).toEqual([
            422,
            'VALIDATION_ERROR',
            ['phone_number_ids'],
          ])
        }
      }
    })
  })

  test('XD-28 a member is a sender of the same org', async () => {
    const away = await t.org({ name: 'Away' })
    const [mine, theirs] = [await pools.sender(), await pools.sender({ orgId: away.org.id })]
    const id = await pools.made()
    const unknown = fault(['phone_number_ids', 1], 'There is no such sender.')
    await leavesNoTrace(async () => {
      for (const other of [theirs, newId('phoneNumber'), 'x']) {
        expectRefusal(await pools.create(body([mine, other])), 'VALIDATION_ERROR', unknown)
        expectRefusal(await pools.patch(id, { phone_number_ids: [mine, other] }), 'VALIDATION_ERROR', unknown)
      }
    })
  })

  test('XD-28 a slug is unique per org and tenant', async () => {
    const slug = freshSlug()
    const [one, other] = [await t.tenant(orgId), await t.tenant(orgId)]
    await pools.made({ slug })
    await pools.made({ slug, tenant_id: one })
    await pools.made({ slug, tenant_id: other })
    const sender = await pools.sender()
    await leavesNoTrace(async () => {
      expectRefusal(await pools.create(body([sender], { slug })), 'POOL_SLUG_TAKEN')
      expectRefusal(await pools.create(body([sender], { slug, tenant_id: one })), 'POOL_SLUG_TAKEN')
    })
  })

  test('XD-25 the plan limits the pools of an org, of all tenants and environments together', async () => {
    for (const [plan, limit, text] of [
      ['free', 1, 'The free plan allows 1 messaging pool.'],
      ['payg', 5, 'The payg plan allows 5 messaging pools.'],
    ] as const) {
      const org = await t.org({ plan, name: plan })
      const own = poolClient(t, org)
      const first = await own.made({ tenant_id: await t.tenant(org.org.id) })
      for (let n = 1; n < limit; n++) await own.made({}, { key: org.keys.test })
      const sender = await own.sender()
      await leavesNoTrace(async () =>
        expectRefusal(await own.create(body([sender])), 'PLAN_RESOURCE_LIMIT', { message: text }),
      )
      await own.remove(first)
      await own.made()
    }
  })

  test('S-009 S-010 lists are read page by page, newest first', async () => {
    const org = await t.org({ name: 'Pages' })
    const own = poolClient(t, org)
    const made: string[] = []
    for (let n = 0; n < 5; n++) made.unshift(await own.made())
    const read: string[] = []
    let cursor = ''
    do {
      const page = await own.list(`?limit=2&cursor=${cursor}`)
      read.push(...idsOf(page))
      cursor = page.body.next_cursor ?? ''
    } while (cursor !== '')
    expect(read).toEqual(made)
  })
})

describe('tenants', () => {
  test('R-39 joining a pool of a tenant binds a sender to it, and leaving frees it', async () => {
    const tenantId = await t.tenant(orgId)
    const [stays, leaves, joins] = [await pools.sender(), await pools.sender(), await pools.sender()]
    const tenants = () => Promise.all([stays, leaves, joins].map(pools.tenantOf))
    const id = await pools.made({ tenant_id: tenantId, phone_number_ids: [stays, leaves] })
    expect(await tenants()).toEqual([tenantId, tenantId, null])
    await pools.patch(id, { phone_number_ids: [joins, stays] })
    expect(await tenants()).toEqual([tenantId, null, tenantId])
    await pools.remove(id)
    expect(await tenants()).toEqual([null, null, null])
  })

  test('R-39 a sender in two pools of a tenant is freed when it leaves the last one', async () => {
    const tenantId = await t.tenant(orgId)
    const [sender, other] = [await pools.sender(), await pools.sender()]
    const first = await pools.made({ tenant_id: tenantId, phone_number_ids: [sender] })
    const second = await pools.made({ tenant_id: tenantId, phone_number_ids: [sender, other] })
    await pools.remove(first)
    expect(await pools.tenantOf(sender)).toBe(tenantId)
    await pools.patch(second, { phone_number_ids: [other] })
    expect([await pools.tenantOf(sender), await pools.tenantOf(other)]).toEqual([null, tenantId])
  })

  test('XD-28 a sender of a tenant joins neither a pool of another tenant nor one without a tenant', async () => {
    const [one, other] = [await t.tenant(orgId), await t.tenant(orgId)]
    const bound = await pools.sender()
    await pools.made({ tenant_id: one, phone_number_ids: [bound] })
    const ofOther = await pools.made({ tenant_id: other })
    const ofOrg = await pools.made()
    const refused = fault(['phone_number_ids', 0], 'This sender belongs to a tenant.')
    await leavesNoTrace(async () => {
      for (const id of [ofOther, ofOrg]) {
        expectRefusal(await pools.patch(id, { phone_number_ids: [bound] }), 'VALIDATION_ERROR', refused)
      }
      expectRefusal(await pools.create(body([bound], { tenant_id: other })), 'VALIDATION_ERROR', refused)
    })
    expect(await pools.tenantOf(bound)).toBe(one)
  })

  test('a sender of a pool without a tenant cannot be taken by a tenant', async () => {
    const tenantId = await t.tenant(orgId)
    const sender = await pools.sender()
    await pools.made({ phone_number_ids: [sender] })
    const refused = fault(['phone_number_ids', 0], 'This sender is a member of a pool without a tenant.')
    await leavesNoTrace(async () =>
      expectRefusal(await pools.create(body([sender], { tenant_id: tenantId })), 'VALIDATION_ERROR', refused),
    )
  })

  test('XD-09 a tenant key reads its own pools and those of the org, and changes only its own', async () => {
    const [own, other] = [await t.tenant(orgId), await t.tenant(orgId)]
    const key = await t.key(orgId, { tenantId: own })
    const sender = await pools.sender()
    const mine = await pools.made({ tenant_id: own, phone_number_ids: [sender] })
    const theirs = await pools.made({ tenant_id: other })
    const ofOrg = await pools.made()
    const listed = idsOf(await pools.list('?limit=100', key))
    expect([mine, ofOrg, theirs].map((id) => listed.includes(id))).toEqual([true, true, false])
    expect((await pools.get(ofOrg, key)).status).toBe(200)
    await leavesNoTrace(async () => {
      expectRefusal(await pools.get(theirs, key), 'NOT_FOUND')
      for (const id of [theirs, ofOrg]) {
        expectRefusal(await pools.patch(id, { name: 'Taken' }, key), 'TENANT_FORBIDDEN')
        expectRefusal(await pools.remove(id, key), 'TENANT_FORBIDDEN')
      }
      for (const tenant_id of [other, null]) {
        expectRefusal(await pools.create(body([sender], { tenant_id }), { key }), 'TENANT_FORBIDDEN')
      }
    })
    const made = await pools.create(body([sender]), { key })
    expect([made.status, made.body.tenant_id]).toEqual([201, own])
    expect((await pools.patch(mine, { name: 'Changed' }, key)).body.name).toBe('Changed')
    expect((await pools.remove(mine, key)).status).toBe(200)
  })

  test('XD-09 a tenant key cannot bind a sender of the org, and does not learn about those of others', async () => {
    const [own, other] = [await t.tenant(orgId), await t.tenant(orgId)]
    const key = await t.key(orgId, { tenantId: own })
    const [free, pooled, theirs] = [await pools.sender(), await pools.sender(), await pools.sender()]
    await pools.made({ phone_number_ids: [pooled] })
    await pools.made({ tenant_id: other, phone_number_ids: [theirs] })
    await leavesNoTrace(async () => {
      for (const ofOrg of [free, pooled]) {
        expectRefusal(await pools.create(body([ofOrg]), { key }), 'TENANT_FORBIDDEN')
      }
      const unknown = fault(['phone_number_ids', 0], 'There is no such sender.')
      expectRefusal(await pools.create(body([theirs]), { key }), 'VALIDATION_ERROR', unknown)
      expectRefusal(await pools.create(body([newId('phoneNumber')]), { key }), 'VALIDATION_ERROR', unknown)
    })
  })

  test('a platform key that acts for a tenant creates a pool of that tenant', async () => {
    const tenantId = await t.tenant(orgId, { ref: 'customer-7' })
    const sender = await pools.sender()
    const headers = { 'x-service-tenant-ref': 'customer-7' }
    const made = await pools.create(body([sender]), { headers })
    expect([made.status, made.body.tenant_id]).toEqual([201, tenantId])
    expect(await pools.tenantOf(sender)).toBe(tenantId)
  })

  test('a pool needs a tenant of the org that is not erased', async () => {
    const away = await t.org({ name: 'Elsewhere' })
    const sender = await pools.sender()
    const erased = await t.tenant(orgId, { status: 'erased' })
    const theirs = await t.tenant(away.org.id)
    const unknown = fault(['tenant_id'], 'This tenant does not exist.')
    await leavesNoTrace(async () => {
      for (const tenant_id of [erased, theirs, newId('tenant'), 'x']) {
        expectRefusal(await pools.create(body([sender], { tenant_id })), 'VALIDATION_ERROR', unknown)
      }
    })
  })

  test('erasing an archived tenant deletes its pools and their recipients, and frees its senders', async () => {
    const org = await t.org({ name: 'Erasing' })
    const own = poolClient(t, org)
    const [gone, kept] = [await t.tenant(org.org.id), await t.tenant(org.org.id)]
    const [sender, other] = [await own.sender(), await own.sender()]
    const pool = await own.made({ slug: 'codes', tenant_id: gone, phone_number_ids: [sender] })
    const otherPool = await own.made({ slug: 'codes', tenant_id: kept, phone_number_ids: [other] })
    for (const [id, number] of [
      [pool, sender],
      [otherPool, other],
    ]) {
      await t.database.sql(
        `insert into pool_recipients (org_id, pool_id, recipient, phone_number_id, at)
         select $1, $2, '+1206555' || (1000 + n), $3, $4 from generate_series(1, 600) n`,
        [org.org.id, id, number, t.service.clock.now()],
      )
    }
    expect((await t.ask('DELETE', `/api/v1/tenants/${gone}`, { key: org.keys.live })).status).toBe(200)
    expect(await own.tenantOf(sender)).toBe(gone)
    const erased = await t.ask('POST', `/api/v1/tenants/${gone}/erase`, { key: org.keys.live })
    expect(erased.status, erased.text).toBe(200)
    expectRefusal(await own.get(pool), 'NOT_FOUND')
    expect((await own.get(otherPool)).body.phone_number_ids).toEqual([other])
    expect([await own.tenantOf(sender), await own.tenantOf(other)]).toEqual([null, kept])
    const recipients = await t.database.sql(
      'select pool_id, count(*)::int as n from pool_recipients where org_id = $1 group by 1',
      [org.org.id],
    )
    expect(recipients).toEqual([{ pool_id: otherPool, n: 600 }])
  })
})

describe('environments', () => {
  test('XD-10 a test key changes only pools that a test key created', async () => {
    const madeLive = await pools.made()
    const madeTest = await pools.made({}, { key: testKey })
    await leavesNoTrace(async () => {
      expectRefusal(await pools.patch(madeLive, { name: 'Taken' }, testKey), 'ENVIRONMENT_ESCALATION')
      expectRefusal(await pools.remove(madeLive, testKey), 'ENVIRONMENT_ESCALATION')
    })
    expect((await pools.get(madeLive, testKey)).status).toBe(200)
    expect((await pools.patch(madeTest, { name: 'Changed' }, testKey)).body.name).toBe('Changed')
    expect((await pools.remove(madeTest, testKey)).status).toBe(200)
  })

  test('SD-09 a test key neither binds nor frees a live sender', async () => {
    const tenantId = await t.tenant(orgId)
    const [ofLive, ofTest] = [await pools.sender(), await pools.sender({ environment: 'test' })]
    await leavesNoTrace(async () =>
      expectRefusal(
        await pools.create(body([ofLive], { tenant_id: tenantId }), { key: testKey }),
        'ENVIRONMENT_ESCALATION',
      ),
    )
    const id = await pools.made({ tenant_id: tenantId, phone_number_ids: [ofTest] }, { key: testKey })
    expect(await pools.tenantOf(ofTest)).toBe(tenantId)
    await pools.patch(id, { phone_number_ids: [ofTest, ofLive] })
    await leavesNoTrace(async () => {
      expectRefusal(await pools.patch(id, { phone_number_ids: [ofTest] }, testKey), 'ENVIRONMENT_ESCALATION')
      expectRefusal(await pools.remove(id, testKey), 'ENVIRONMENT_ESCALATION')
    })
    expect(await pools.tenantOf(ofLive)).toBe(tenantId)
  })
})

describe('concurrent changes', () => {
  test('of two tenants that want the same sender, one gets it', async () => {
    const tenants = [await t.tenant(orgId), await t.tenant(orgId)]
    const sender = await pools.sender()
    const replies = await Promise.all(tenants.map((tenant_id) => pools.create(body([sender], { tenant_id }))))
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 422])
    const winner = replies.find(({ status }) => status === 201)?.body.tenant_id
    expect(await pools.tenantOf(sender)).toBe(winner)
  })

  test('two pools with one slug are not both created, and the limit holds', async () => {
    const org = await t.org({ plan: 'payg', name: 'Race' })
    const own = poolClient(t, org)
    const senders = await Promise.all(Array.from({ length: 8 }, () => own.sender()))
    const same = await Promise.all(senders.slice(0, 2).map((id) => own.create(body([id], { slug: 'one' }))))
    expect(same.map(({ status }) => status).sort()).toEqual([201, 409])
    const more = await Promise.all(senders.map((id) => own.create(body([id]))))
    expect(more.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 402, 402, 402, 402])
  })
})
