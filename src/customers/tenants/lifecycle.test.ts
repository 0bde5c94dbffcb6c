/** The states of a tenant: every transition from every state, sequentially and concurrently. */
import { setTimeout } from 'node:timers/promises'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { tenantEntry as entry, withTrail } from '../../../test/audit/trail.ts'
import { keyIdOf } from '../../../test/clients/key-client.ts'
import { type Move, type TenantState, tenantClient } from '../../../test/clients/tenant-client.ts'
import { iso, tick } from '../../../test/expect/instants.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import { statement } from '../../platform/db/statement.ts'
import type { Code } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { makeTenantLifecycle } from './lifecycle.ts'
import type { TenantRow } from './store.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const { live, test: testKey } = acme.keys
const { create, get, move, made } = tenantClient(t, acme)
const leavesNoTrace = await watchTables(t.database)
const liveKeyId = await keyIdOf(t, live)
const byKey = { via: 'api_key', api_key_id: liveKeyId }
const recordTrail = <T>(work: () => Promise<T>) => withTrail(t.database, acme.org.id, work)

/** The result of each transition from each state: the new state, or the code of the refusal. */
const moves: Record<Move, Record<TenantState, TenantState | Code>> = {
  suspend: {
    active: 'suspended',
    suspended: 'TENANT_NOT_ACTIVE',
    archived: 'TENANT_NOT_ACTIVE',
    erased: 'TENANT_NOT_ACTIVE',
  },
  unsuspend: {
    active: 'TENANT_NOT_SUSPENDED',
    suspended: 'active',
    archived: 'TENANT_NOT_SUSPENDED',
    erased: 'TENANT_ERASED',
  },
  archive: {
    active: 'archived',
    suspended: 'TENANT_NOT_ACTIVE',
    archived: 'TENANT_NOT_ACTIVE',
    erased: 'TENANT_NOT_ACTIVE',
  },
  restore: {
    active: 'TENANT_NOT_ARCHIVED',
    suspended: 'TENANT_NOT_ARCHIVED',
    archived: 'active',
    erased: 'TENANT_ERASED',
  },
  erase: { active: 'TENANT_ACTIVE', suspended: 'erased', archived: 'erased', erased: 'erased' },
}
const states = Object.keys(moves.erase) as TenantState[]
const reversible = ['suspend', 'unsuspend', 'archive', 'restore'] as const
const actions = {
  suspend: 'tenant.suspended',
  unsuspend: 'tenant.unsuspended',
  archive: 'tenant.archived',
  restore: 'tenant.restored',
} as const

describe('transitions', () => {
  test.each([
    ['A-267 A-170', 'suspend', 'active'],
    ['A-270 A-171', 'unsuspend', 'suspended'],
    ['A-272 A-172', 'archive', 'active'],
    ['A-277 AD-99', 'restore', 'archived'],
  ] as const)(
    '%s AD-104 %s of a tenant that is %s returns the changed tenant and writes one audit entry',
    async (_, name, from) => {
      const id = await made(from, { external_ref: newId('key') })
      const before = (await get(id)).body
      await tick(t.service.clock)
      const { result: reply, trail } = await recordTrail(() => move(name, id))
      const { updated_at } = reply.body
      const times = {
        suspend: { suspended_at: updated_at },
        unsuspend: { suspended_at: null },
        archive: { archived_at: updated_at },
        restore: { archived_at: null },
      }[name]
      expect([reply.status, reply.body]).toEqual([
        200,
        { ...before, ...times, status: moves[name][from], updated_at: iso },
      ])
      expect(updated_at > before.updated_at).toBe(true)
      expect((await get(id)).body).toEqual(reply.body)
      const canceled = name === 'suspend' || name === 'archive' ? { canceled_messages: 0 } : {}
      expect(trail).toEqual([entry(actions[name], id, { ...canceled, ...byKey })])
    },
  )

  const refused = reversible.flatMap((name) =>
    states
      .filter((state) => !states.includes(moves[name][state] as TenantState))
      .map((state) => [name, state, moves[name][state] as Code] as const),
  )
  test.each(refused)(
    'A-275 A-282 AD-105 AD-108 %s of a tenant that is %s is refused with 409 %s',
    async (name, state, code) => {
      const id = await made(state)
      await leavesNoTrace(async () => expectRefusal(await move(name, id), code))
    },
  )

  test('A-281 X-263 erasing an active tenant is refused', async () => {
    const id = await made()
    await leavesNoTrace(async () => expectRefusal(await move('erase', id), 'TENANT_ACTIVE'))
  })

  test('A-268 A-278 AD-102 a tenant key cannot change the state of any tenant, not even its own', async () => {
    const own = await made()
    const key = await t.key(acme.org.id, { tenantId: own })
    const others = { suspend: own, unsuspend: await made('suspended'), restore: await made('archived') }
    await leavesNoTrace(async () => {
      for (const id of [own, ...Object.values(others)]) {
        for (const name of ['suspend', 'unsuspend', 'restore', 'erase'] as const) {
          expectRefusal(await move(name, id, key), 'TENANT_KEY_FORBIDDEN')
        }
        expectRefusal(await move('archive', id, key), 'TENANT_KEY_CANNOT_DELETE')
      }
    })
  })

  test('A-268 AD-103 a test key can unsuspend and restore tenants, but not suspend, archive or erase them', async () => {
    const byTest = (await create({ name: 'By test' }, testKey)).body.id
    const [active, suspended, archived] = [await made(), await made('suspended'), await made('archived')]
    await leavesNoTrace(async () => {
      for (const id of [byTest, active, suspended, archived]) {
        for (const name of ['suspend', 'archive', 'erase'] as const) {
          expectRefusal(await move(name, id, testKey), 'ENVIRONMENT_ESCALATION')
        }
      }
    })
    expect((await move('unsuspend', suspended, testKey)).body.status).toBe('active')
    expect((await move('restore', archived, testKey)).body.status).toBe('active')
  })

  test('a tenant of another org, or one that does not exist, is not found', async () => {
    const other = await t.org({ name: 'Not mine' })
    const foreign = await tenantClient(t, other).made()
    await leavesNoTrace(async () => {
      for (const id of [foreign, newId('tenant'), 'ten_x']) {
        for (const name of Object.keys(moves) as Move[]) expectRefusal(await move(name, id), 'NOT_FOUND')
      }
    })
  })

  test('X-045 a tenant key works only while the tenant is active', async () => {
    const id = await made()
    const key = await t.key(acme.org.id, { tenantId: id })
    const request = () => t.ask('GET', '/api/v1/suppressions', { key })
    expect((await request()).status).toBe(200)
    // The process that changes the tenant does not depend on the database notification.
    await t.database.sql('alter table tenants disable trigger tenants_announce')
    onTestFinished(async () => {
      await t.database.sql('alter table tenants enable trigger tenants_announce')
    })
    await setTimeout(200)
    expect((await request()).status).toBe(200)
    await move('suspend', id)
    expectRefusal(await request(), 'TENANT_SUSPENDED')
    await move('unsuspend', id)
    expect((await request()).status).toBe(200)
    await move('archive', id)
    expectRefusal(await request(), 'TENANT_ARCHIVED')
    await move('restore', id)
    expect((await request()).status).toBe(200)
  })

  test.each([
    ['suspend', 'active'],
    ['unsuspend', 'suspended'],
    ['archive', 'active'],
    ['restore', 'archived'],
  ] as const)(
    'A-274 AD-105 of concurrent %s calls in two processes one succeeds and writes one entry',
    async (name, from) => {
      const second = await startTestService({ database: t.database })
      try {
        const elsewhere = tenantClient(second, acme)
        for (let round = 0; round < 3; round++) {
          const id = await made(from)
          const { result: replies, trail } = await recordTrail(() =>
            Promise.all(Array.from({ length: 6 }, (_, i) => (i % 2 ? move(name, id) : elsewhere.move(name, id)))),
          )
          const winners = replies.filter(({ status }) => status === 200)
          expect(winners).toHaveLength(1)
          const becomes = moves[name][from] as TenantState
          for (const reply of replies.filter(({ status }) => status !== 200)) {
            expectRefusal(reply, moves[name][becomes] as Code)
          }
          expect((await get(id)).body).toEqual(winners[0]?.body)
          expect(trail.map((row) => [row.action, row.resource_id])).toEqual([[actions[name], id]])
        }
      } finally {
        await second.stop()
      }
    },
  )

  test('A-274 AD-105 of a concurrent suspend and archive in two processes one succeeds', async () => {
    const second = await startTestService({ database: t.database })
    try {
      const elsewhere = tenantClient(second, acme)
      for (let round = 0; round < 8; round++) {
        const id = await made()
        const { result: replies, trail } = await recordTrail(() =>
          Promise.all([move('suspend', id), elsewhere.move('archive', id)]),
        )
        const [won] = replies.filter(({ status }) => status === 200)
        const [lost] = replies.filter(({ status }) => status !== 200)
        expectRefusal(lost as Reply, 'TENANT_NOT_ACTIVE')
        expect((await get(id)).body).toEqual(won?.body)
        expect(trail).toHaveLength(1)
      }
    } finally {
      await second.stop()
    }
  })
})

describe('scheduled messages', () => {
  const insert = (tenantId: string, n: number) =>
    t.database.sql(`insert into waiting (org_id, tenant_id, n) select $1, $2, g from generate_series(1, $3::int) g`, [
      acme.org.id,
      tenantId,
      n,
    ])
  const cancel = statement<{ orgId: string; tenantId: string; reason: string }>(
    'test.cancel_waiting',
    'update waiting set status = :reason where org_id = :orgId and tenant_id = :tenantId and status is null',
  )
  const waiting = (tenantId: string) =>
    t.database.sql('select status, count(*)::int as n from waiting where tenant_id = $1 group by 1', [tenantId])
  const { db, clock, audit } = t.service.modules
  const actor = { kind: 'key', keyId: liveKeyId, ip: null, userAgent: '' } as const
  const scope = { orgId: acme.org.id, tenantId: null, projectId: null, environment: 'live' } as const
  const forget = () => undefined

  test.each([
    ['A-269', 'suspend', 'Tenant suspended'],
    ['A-276', 'archive', 'Tenant archived'],
  ] as const)(
    "%s AD-106 %s cancels the tenant's scheduled messages in the same transaction and counts them",
    async (_, name, reason) => {
      await t.database.sql('drop table if exists waiting')
      await t.database.sql('create table waiting (org_id text, tenant_id text, n int, status text)')
      const lifecycle = makeTenantLifecycle({
        db,
        clock,
        audit,
        forget,
        cancelScheduled: [(tx, work) => tx.change(cancel, work), async () => 5],
      })
      const [id, other] = [await made(), await made()]
      await insert(id, 12)
      await insert(other, 3)
      const { result: row, trail } = await recordTrail<TenantRow>(() => lifecycle[name](scope, actor, id))
      expect(row.status).toBe(moves[name].active)
      expect(await waiting(id)).toEqual([{ status: reason, n: 12 }])
      expect(await waiting(other)).toEqual([{ status: null, n: 3 }])
      expect(trail).toEqual([entry(actions[name], id, { canceled_messages: 17, ...byKey })])

      // Undoing the change does not schedule the messages again.
      await lifecycle[name === 'suspend' ? 'unsuspend' : 'restore'](scope, actor, id)
      expect(await waiting(id)).toEqual([{ status: reason, n: 12 }])

      await insert(id, 1)
      const failing = makeTenantLifecycle({
        db,
        clock,
        audit,
        forget,
        cancelScheduled: [
          (tx, work) => tx.change(cancel, work),
          async () => {
            throw new Error('cancel failed')
          },
        ],
      })
      const failed = await recordTrail(() => failing[name](scope, actor, id).catch((error: Error) => error.message))
      expect([failed.result, failed.trail]).toEqual(['cancel failed', []])
      expect((await get(id)).body.status).toBe('active')
      expect(await waiting(id)).toContainEqual({ status: null, n: 1 })
      await t.database.sql('drop table waiting')
    },
  )
})
