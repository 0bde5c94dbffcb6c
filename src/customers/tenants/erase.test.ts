/** Erasing a tenant: what is deleted, what is kept, what is reported, and how an interruption is handled. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tenantEntry as entry, withTrail } from '../../../test/audit/trail.ts'
import { keyIdOf } from '../../../test/clients/key-client.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { iso } from '../../../test/expect/instants.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import type { AppendEvents } from '../../journal/events/append-events.ts'
import { statement } from '../../platform/db/statement.ts'
import { newId } from '../../platform/ground/ids.ts'
import { type ErasureStep, makeEraseTenant } from './erase.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const orgId = acme.org.id
const { live, test: testKey } = acme.keys
const { create, get, list, patch, quota, move, made } = tenantClient(t, acme)
const leavesNoTrace = await watchTables(t.database)
const liveKeyId = await keyIdOf(t, live)
const byKey = { via: 'api_key', api_key_id: liveKeyId }
const recordTrail = <T>(work: () => Promise<T>) => withTrail(t.database, orgId, work)

const none = { messages_redacted: 0, message_events_deleted: 0, contacts_deleted: 0, inbound_deleted: 0 }

const eventsOf = (tenantId: string) =>
  t.database.sql<{ created_at: Date }>(
    `select org_id, id, tenant_id, environment, event, data, created_at from events
     where org_id = $1 and data->>'tenant_id' = $2
     order by id`,
    [orgId, tenantId],
  )

/** All columns of the event of an erasure. */
const erasedEvent = (tenantId: string, externalRef: string | null, counts: object) => ({
  org_id: orgId,
  id: expect.stringMatching(/^evt_/),
  tenant_id: tenantId,
  environment: null,
  event: 'tenant.erased',
  data: { tenant_id: tenantId, external_ref: externalRef, ...counts },
  created_at: expect.any(Date),
})

const suppress = (tenantId: string | null, reason: string, n: number) =>
  t.database.sql(
    `insert into suppressions (org_id, id, tenant_id, channel, value, reason, source, created_environment,
       created_at, updated_at)
     select $1, 'sup_' || md5(random()::text || g), $2, 'email', $3 || g || '@' || coalesce($2, 'org') || '.test', $3,
       'provider', 'live', $4, $4
     from generate_series(1, $5::int) g`,
    [orgId, tenantId, reason, t.service.clock.now(), n],
  )
const suppressionsOf = (tenantId: string) =>
  t.database.sql<{ reason: string; n: number }>(
    'select reason, count(*)::int as n from suppressions where tenant_id = $1 group by 1 order by 1',
    [tenantId],
  )

describe('a complete erasure', () => {
  describe.each([
    ['suspended', 'A-279'],
    ['archived', 'A-280'],
  ] as const)('of a tenant that is %s', (state, requirement) => {
    const ref = `Gone-${state}`
    let id: string
    let before: Record<string, unknown>
    let reply: Reply
    let trail: unknown[]

    beforeAll(async () => {
      id = await made(state, { name: 'Gone', slug: `gone-${state}`, external_ref: ref })
      before = (await get(id)).body
      const recorded = await recordTrail(() => move('erase', id))
      reply = recorded.result
      trail = recorded.trail
    })

    test(`${requirement} AD-107 returns the counts and sets the status to erased`, async () => {
      const { erased_at } = reply.body
      expect([reply.status, reply.body]).toEqual([200, { id, status: 'erased', erased_at: iso, ...none }])
      expect((await get(id)).body).toEqual({
        ...before,
        status: 'erased',
        external_ref: null,
        erased_at,
        updated_at: erased_at,
      })
    })

    test(`${requirement} AD-99 writes one audit entry with the counts`, () =>
      expect(trail).toEqual([entry('tenant.erased', id, { ...none, ...byKey })]))

    test(`${requirement} A-283 X-126 X-127 writes one tenant.erased event with the counts`, async () => {
      const events = await eventsOf(id)
      expect(events).toEqual([erasedEvent(id, ref.toLowerCase(), none)])
      expect(events[0]?.created_at.getTime()).toBeGreaterThanOrEqual(Date.parse(reply.body.erased_at))
    })

    test('AD-107 returns the same response when it is repeated, and changes nothing', () =>
      leavesNoTrace(async () => expect((await move('erase', id)).body).toEqual(reply.body)))
  })

  test("AD-107 the tenant's suppressions are deleted except stops and complaints", async () => {
    const [id, other] = [await made('archived'), await made()]
    for (const reason of ['bounce', 'manual', 'unsubscribe']) await suppress(id, reason, 400)
    for (const reason of ['stop', 'complaint']) await suppress(id, reason, 3)
    for (const tenantId of [other, null]) await suppress(tenantId, 'manual', 2)
    expect((await move('erase', id)).status).toBe(200)
    expect(await suppressionsOf(id)).toEqual([
      { reason: 'complaint', n: 3 },
      { reason: 'stop', n: 3 },
    ])
    expect(await suppressionsOf(other)).toEqual([{ reason: 'manual', n: 2 }])
    const ofOrg = 'select 1 from suppressions where org_id = $1 and tenant_id is null'
    expect(await t.database.sql(ofOrg, [orgId])).toHaveLength(2)
  })

  test("AD-107 AD-108 the tenant's keys are revoked, and other keys keep working", async () => {
    const [id, other] = [await made(), await made()]
    const [first, second] = [await t.key(orgId, { tenantId: id }), await t.key(orgId, { tenantId: id })]
    const foreign = await t.key(orgId, { tenantId: other })
    const request = (key: string) => t.ask('GET', '/api/v1/suppressions', { key })
    expect((await request(first)).status).toBe(200)
    const longAgo = new Date(0)
    await t.database.sql('update api_keys set revoked_at = $2 where id = $1', [await keyIdOf(t, second), longAgo])
    await move('suspend', id)
    const { erased_at } = (await move('erase', id)).body
    expectRefusal(await request(first), 'UNAUTHORIZED')
    expect((await request(foreign)).status).toBe(200)
    const revoked = await t.database.sql<{ revoked_at: Date }>(
      'select revoked_at from api_keys where tenant_id = $1 order by revoked_at',
      [id],
    )
    expect(revoked.map((row) => row.revoked_at)).toEqual([longAgo, new Date(erased_at)])
    expectRefusal(await request(await t.key(orgId, { tenantId: id })), 'TENANT_NOT_FOUND')
  })

  test('A-282 AD-107 AD-108 slug and reference of an erased tenant can be used by a new one', async () => {
    const naming = { name: 'Phoenix', slug: 'phoenix', external_ref: 'Phoenix' }
    const id = await made('erased', naming)
    const { status, body } = await create(naming)
    expect([status, body.slug, body.external_ref, body.id === id]).toEqual([201, 'phoenix', 'phoenix', false])
    for (const [name, code] of [
      ['restore', 'TENANT_ERASED'],
      ['unsuspend', 'TENANT_ERASED'],
      ['suspend', 'TENANT_NOT_ACTIVE'],
      ['archive', 'TENANT_NOT_ACTIVE'],
    ] as const) {
      await leavesNoTrace(async () => expectRefusal(await move(name, id), code))
    }
    const named = await t.ask('GET', '/api/v1/usage', {
      key: live,
      headers: { 'x-service-tenant-ref': 'PHOENIX' },
    })
    expect(named.body.tenant_id).toBe(body.id)
    const erased = (await list('?status=erased&limit=100')).body.data.map((row: { id: string }) => row.id)
    expect(erased).toContain(id)
  })

  test('X-126 concurrent erasures in two processes return the same response and write one event', async () => {
    const second = await startTestService({ database: t.database })
    try {
      const elsewhere = tenantClient(second, acme)
      const id = await made('suspended')
      await suppress(id, 'manual', 1_700)
      const { result: replies, trail } = await recordTrail(() =>
        Promise.all(Array.from({ length: 6 }, (_, i) => (i % 2 ? move('erase', id) : elsewhere.move('erase', id)))),
      )
      for (const reply of replies) expect(reply.body).toEqual(replies[0]?.body)
      expect(replies.map(({ status }) => status)).toEqual(new Array(6).fill(200))
      expect(trail.map((row) => row.action)).toEqual(['tenant.erased'])
      expect(await eventsOf(id)).toEqual([erasedEvent(id, null, none)])
      expect(await suppressionsOf(id)).toEqual([])
    } finally {
      await second.stop()
    }
  })

  test('of a concurrent erasure and unsuspension in two processes exactly one succeeds', async () => {
    const second = await startTestService({ database: t.database })
    try {
      const elsewhere = tenantClient(second, acme)
      for (let round = 0; round < 6; round++) {
        const id = await made('suspended')
        const [erased, unsuspended] = (await Promise.all([move('erase', id), elsewhere.move('unsuspend', id)])) as [
          Reply,
          Reply,
        ]
        if (erased.status === 200) expectRefusal(unsuspended, 'TENANT_ERASED')
        else expectRefusal(erased, 'TENANT_ACTIVE')
        expect((await get(id)).body.status).toBe(erased.status === 200 ? 'erased' : 'active')
        expect(await eventsOf(id)).toHaveLength(erased.status === 200 ? 1 : 0)
      }
    } finally {
      await second.stop()
    }
  })
})

describe('an interrupted erasure', () => {
  /** Makes the deletion of one row fail, as a lost database connection would. */
  const withFailingDelete = async (work: () => Promise<void>): Promise<void> => {
    await t.database.sql(`create function fail_delete() returns trigger language plpgsql as
      $$ begin if old.value like 'stuck%' then raise exception 'delete failed'; end if; return old; end $$`)
    await t.database.sql(
      'create trigger fail_delete before delete on suppressions for each row execute function fail_delete()',
    )
    try {
      await work()
    } finally {
      await t.database.sql('drop function fail_delete cascade')
    }
  }

  test.each(['suspended', 'archived'] as const)(
    'A-282 AD-107 a tenant that was %s cannot be restored after its erasure began, and erasing again completes it',
    async (state) => {
      const id = await made(state, { external_ref: `half-${state}` })
      await suppress(id, 'manual', 700)
      await suppress(id, 'stop', 1)
      await t.database.sql(
        `update suppressions set value = 'stuck@x.test' where (org_id, id) in
           (select org_id, id from suppressions where tenant_id = $1 and reason = 'manual' limit 1)`,
        [id],
      )
      await withFailingDelete(async () => {
        expectRefusal(await move('erase', id), 'INTERNAL_ERROR')
        expect((await get(id)).body).toMatchObject({
          status: state,
          external_ref: `half-${state}`,
          erased_at: null,
        })
        await leavesNoTrace(async () => {
          expectRefusal(await move('unsuspend', id), 'TENANT_ERASED')
          expectRefusal(await move('restore', id), 'TENANT_ERASED')
          expectRefusal(await move('suspend', id), 'TENANT_NOT_ACTIVE')
          expectRefusal(await move('archive', id), 'TENANT_NOT_ACTIVE')
          expectRefusal(await patch(id, { name: 'x' }), 'TENANT_ERASED')
          expectRefusal(await quota(id, { sms_monthly: 1 }), 'TENANT_ERASED')
          expectRefusal(await move('erase', id, testKey), 'ENVIRONMENT_ESCALATION')
        })
        expect(await eventsOf(id)).toEqual([])
      })
      const { result: reply, trail } = await recordTrail(() => move('erase', id))
      expect(reply.body).toEqual({ id, status: 'erased', erased_at: iso, ...none })
      expect(trail).toEqual([entry('tenant.erased', id, { ...none, ...byKey })])
      expect(await eventsOf(id)).toEqual([erasedEvent(id, `half-${state}`, none)])
      expect(await suppressionsOf(id)).toEqual([{ reason: 'stop', n: 1 }])
    },
  )
})

describe('an erasure interrupted at any point', () => {
  const { db, clock, audit, appendEvents } = t.service.modules
  const actor = { kind: 'key', keyId: liveKeyId, ip: null, userAgent: '' } as const
  const scope = { orgId, tenantId: null, projectId: null, environment: 'live' } as const
  const kinds = ['messages', 'events', 'contacts', 'inbound', 'uncounted'] as const
  const countOf = {
    messages: 'messages_redacted',
    events: 'message_events_deleted',
    contacts: 'contacts_deleted',
    inbound: 'inbound_deleted',
  } as const
  const eraseLeft = statement<{ orgId: string; tenantId: string; kind: string; limit: number }>(
    'test.erase_left',
    `delete from left_behind where ctid in (
       select ctid from left_behind where org_id = :orgId and tenant_id = :tenantId and kind = :kind limit :limit)`,
  )

  beforeAll(() => t.database.sql('create table left_behind (org_id text, tenant_id text, kind text)'))

  const leave = (tenantId: string, kind: string, n: number) =>
    t.database.sql('insert into left_behind select $1, $2, $3 from generate_series(1, $4::int)', [
      orgId,
      tenantId,
      kind,
      n,
    ])

  type Scenario = { left: Record<(typeof kinds)[number], number>; interruptions: number[]; concurrent: boolean }

  /** Can fail at every point: before and after each chunk's change, and before and after the event. */
  const makeInterruptible = ({ interruptions }: Scenario) => {
    let point = 0
    const failing = new Set(interruptions)
    const mayFail = () => {
      if (failing.has(point++)) throw new Error('interrupted')
    }
    const steps = kinds.map(
      (kind): ErasureStep => ({
        ...(kind !== 'uncounted' && { counts: countOf[kind] }),
        run: async (tx, rows) => {
          mayFail()
          const erased = await tx.change(eraseLeft, { ...rows, kind })
          mayFail()
          return erased
        },
      }),
    )
    const appending: AppendEvents = async (tx, ...events) => {
      mayFail()
      await appendEvents(tx, ...events)
      mayFail()
    }
    return makeEraseTenant({
      db,
      clock,
      audit,
      steps,
      appendEvents: appending,
      forget: () => undefined,
    })
  }

  const someRows = fc.constantFrom(0, 1, 499, 500, 501, 1_203)
  const scenarios: fc.Arbitrary<Scenario> = fc.record({
    left: fc.record({
      messages: someRows,
      events: someRows,
      contacts: someRows,
      inbound: someRows,
      uncounted: someRows,
    }),
    interruptions: fc.uniqueArray(fc.nat(30), { maxLength: 8 }),
    concurrent: fc.boolean(),
  })

  test('X-126 X-127 AD-107 is completed by later calls, also concurrent ones, with the counts of the whole erasure', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const id = await made('archived', { external_ref: newId('key') })
        const { external_ref } = (await get(id)).body
        const otherTenant = newId('tenant')
        for (const kind of kinds) {
          await leave(id, kind, scenario.left[kind])
          await leave(otherTenant, kind, 2)
        }
        const erase = makeInterruptible(scenario)
        const once = () =>
          erase(scope, actor, id).then(
            (row) => [row],
            () => [],
          )
        const { result: row, trail } = await recordTrail(async () => {
          for (let tries = 0; tries <= 31; tries++) {
            const [done] = (await Promise.all(scenario.concurrent ? [once(), once()] : [once()])).flat()
            if (done) return done
          }
        })
        const { messages, events, contacts, inbound } = scenario.left
        const counts = {
          messages_redacted: messages,
          message_events_deleted: events,
          contacts_deleted: contacts,
          inbound_deleted: inbound,
        }
        expect(row).toMatchObject({ id, status: 'erased', external_ref: null, erasure: counts })
        expect(trail).toEqual([entry('tenant.erased', id, { ...counts, ...byKey })])
        expect(await eventsOf(id)).toEqual([erasedEvent(id, external_ref, counts)])
        const left = 'select tenant_id, count(*)::int as n from left_behind group by 1'
        expect(await t.database.sql(left)).toEqual([{ tenant_id: otherTenant, n: 2 * kinds.length }])
        await t.database.sql('truncate left_behind')
        const shown = (await move('erase', id)).body
        expect(shown).toEqual({ id, status: 'erased', erased_at: row?.erased_at?.toISOString(), ...counts })
      }),
      { numRuns: 40 },
    )
  }, 120_000)
})
