/** Suppressions through the dashboard, and the search in them. */
import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { domainClient } from '../../../../test/clients/domain-client.ts'
import { mail } from '../../../../test/clients/mailer.ts'
import { person } from '../../../../test/clients/team-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { iso } from '../../../../test/expect/instants.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'
import { makeFindSuppressions } from '../../../recipients/suppressions/find-suppressions.ts'
import { searchSuppressions } from '../../../recipients/suppressions/store.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const acme = await t.org()
const orgId = acme.org.id
const developer = await person(t, { orgId, role: 'developer' })
const member = await person(t, { orgId, role: 'member' })
const viewer = await person(t, { orgId, role: 'viewer' })

const path = '/api/internal/suppressions'

const added = async (value: string, body: object = {}): Promise<string> => {
  const reply = await developer.ask('POST', path, { channel: 'email', value, ...body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.id
}

/** A suppression that another part of the service wrote. */
const inserted = async (reason: string, value: string, org = orgId): Promise<string> => {
  const id = newId('suppression')
  await t.database.sql(
    `insert into suppressions (org_id, id, channel, value, reason, source, created_environment, created_at, updated_at)
     values ($1, $2, 'email', $3, $4, 'provider', 'live', $5, $5)`,
    [org, id, value, reason, t.service.clock.now()],
  )
  return id
}

const rowOf = async (id: string) => (await t.database.sql('select * from suppressions where id = $1', [id]))[0]

describe('adding and removing', () => {
  test('A-064 AD-157 a developer adds a suppression, which blocks sends, and removes it again', async () => {
    const domains = domainClient(t, acme)
    await domains.verify(await domains.added('shop.test'))
    const body = mail({ from: 'hi@shop.test', to: ['ann@s.example'] })
    const send = async () => {
      const reply = await t.ask('POST', '/api/v1/emails', { key: acme.keys.live, body })
      return [reply.status, reply.body.error?.code]
    }
    const target = { channel: 'email', value: 'Ann@S.example' }
    const { result, trail } = await withTrail(t.database, orgId, () => developer.ask('POST', path, target))
    const { id } = result.body
    expect([result.status, result.body]).toEqual([
      201,
      {
        id,
        channel: 'email',
        value: 'ann@s.example',
        reason: 'manual',
        scope: 'all',
        tenant_id: null,
        source: 'dashboard',
        message_id: null,
        created_at: iso,
        updated_at: iso,
        removable: true,
      },
    ])
    const entry = (action: string) =>
      expect.objectContaining({
        actor_user_id: developer.userId,
        action,
        resource_type: 'suppression',
        resource_id: id,
        metadata: { channel: 'email', value: 'ann@s.example', reason: 'manual' },
      })
    expect(trail).toEqual([entry('suppression.added')])
    expect(await send()).toEqual([422, 'ALL_SUPPRESSED'])
    const again = await leavesNoTrace(() => developer.ask('POST', path, target))
    expect([again.status, again.body]).toEqual([200, result.body])
    const shown = await t.ask('GET', `/api/v1/suppressions/${id}`, { key: acme.keys.live })
    expect({ ...shown.body, removable: true }).toEqual(result.body)

    const removed = await withTrail(t.database, orgId, () => developer.ask('DELETE', `${path}?id=${id}`))
    expect([removed.result.status, removed.result.body]).toEqual([200, { id, deleted: true }])
    expect(removed.trail).toEqual([entry('suppression.removed')])
    expect(await rowOf(id)).toBeUndefined()
    expect(await send()).toEqual([200, undefined])
  })

  test('A-064 A-048 a member and a viewer list suppressions and change none', async () => {
    const id = await added('kept@s.example')
    await leavesNoTrace(async () => {
      for (const who of [member, viewer]) {
        const [first] = (await who.ask('GET', `${path}?limit=1`)).body.data
        expect(first).toMatchObject({ id, value: 'kept@s.example' })
        for (const [method, url, body] of [
          ['POST', path, { channel: 'email', value: 'new@s.example' }],
          ['DELETE', `${path}?id=${id}`],
        ] as const) {
          const reply = await who.ask(method, url, body)
          expect([reply.status, reply.body], method).toEqual([403, { error: 'Developer or owner role required' }])
        }
      }
    })
  })

  test.each([
    ['A-354', 'stop'],
    ['A-355', 'complaint'],
  ])('%s a suppression with reason %s is shown as not removable and stays', async (_, reason) => {
    const id = await inserted(reason, `${reason}@s.example`)
    const [shown] = (await viewer.ask('GET', `${path}?q=${reason}@`)).body.data
    expect(shown).toMatchObject({ id, reason, removable: false })
    const refused = await leavesNoTrace(() => developer.ask('DELETE', `${path}?id=${id}`))
    expect([refused.status, refused.body]).toEqual([
      409,
      { error: 'Suppressions with reason stop or complaint cannot be removed.', code: 'SUPPRESSION_PROTECTED' },
    ])
    const key = { key: acme.keys.live }
    const byKey = await leavesNoTrace(() => t.ask('DELETE', `/api/v1/suppressions/${id}`, key))
    expect([byKey.status, byKey.body.error.code]).toEqual([409, 'SUPPRESSION_PROTECTED'])
  })

  test.each(['bounce', 'unsubscribe'])('AD-157 a suppression with reason %s can be removed', async (reason) => {
    const id = await inserted(reason, `${reason}@s.example`)
    const [shown] = (await viewer.ask('GET', `${path}?q=${reason}@`)).body.data
    expect(shown).toMatchObject({ id, removable: true, scope: reason === 'bounce' ? 'all' : 'broadcast' })
    expect((await developer.ask('DELETE', `${path}?id=${id}`)).status).toBe(200)
    expect(await rowOf(id)).toBeUndefined()
  })

  test('AD-157 adds a suppression for a tenant, which must be active', async () => {
    const tenantId = await t.tenant(orgId)
    const id = await added('tenant@s.example', { tenant_id: tenantId })
    expect(await rowOf(id)).toMatchObject({ tenant_id: tenantId, source: 'dashboard', created_environment: 'live' })
    const forTenant = async (tenant_id: string) => {
      const reply = await developer.ask('POST', path, { channel: 'email', value: 'x@s.example', tenant_id })
      return [reply.status, reply.body.code]
    }
    const suspended = await t.tenant(orgId, { status: 'suspended' })
    const foreign = await t.tenant((await t.org()).org.id)
    await leavesNoTrace(async () => {
      expect(await forTenant(suspended)).toEqual([409, 'TENANT_NOT_USABLE'])
      expect(await forTenant(foreign)).toEqual([404, undefined])
      expect(await forTenant('nonsense')).toEqual([404, undefined])
    })
  })

  test.each([
    [{ channel: 'email', value: 'nobody' }, 'value'],
    [{ channel: 'sms', value: '12' }, 'value'],
    [{ channel: 'fax', value: 'ann@s.example' }, 'channel'],
    [{ value: 'ann@s.example' }, 'channel'],
  ])('AD-157 refuses %o and names the field', async (body, field) => {
    const reply = await leavesNoTrace(() => developer.ask('POST', path, body))
    expect([reply.status, reply.body.code]).toEqual([422, 'VALIDATION_ERROR'])
    expect(reply.body.errors.map((error: { path: string[] }) => error.path)).toContainEqual([field])
  })

  test('A-030 a suppression of another org cannot be reached', async () => {
    const other = await t.org()
    const id = await inserted('manual', 'theirs@s.example', other.org.id)
    await expectOutOfReach(
      t,
      developer,
      { table: 'suppressions', orgId: other.org.id, id, unknownId: newId('suppression') },
      (sup) => [['DELETE', `${path}?id=${sup}`]],
    )
    expect((await viewer.ask('GET', `${path}?q=theirs@s.example`)).body.data).toEqual([])
  })
})

describe('listing', async () => {
  const own = await t.org()
  const reader = await person(t, { orgId: own.org.id, role: 'developer' })
  const tenantId = await t.tenant(own.org.id)
  const add = (channel: string, value: string, tenant_id: string | null = null) =>
    reader.ask('POST', path, { channel, value, tenant_id })
  await add('email', 'a1@l.example')
  await add('sms', '+14155550100')
  await add('email', 'a2@l.example', tenantId)
  await inserted('bounce', 'a3@l.example', own.org.id)
  await add('email', '50%_off@l.example')

  const values = async (query: string) => {
    const reply = await reader.ask('GET', `${path}?${query}`)
    expect(reply.status, reply.text).toBe(200)
    return reply.body.data.map(({ value }: { value: string }) => value)
  }

  test.each([
    ['', ['50%_off@l.example', 'a3@l.example', 'a2@l.example', '+14155550100', 'a1@l.example']],
    ['channel=&reason=&q=&tenant_id=&limit=2', ['50%_off@l.example', 'a3@l.example']],
    ['channel=sms', ['+14155550100']],
    ['reason=bounce', ['a3@l.example']],
    [`tenant_id=TENANT`, ['a2@l.example']],
    ['tenant_id=nonsense', []],
    ['q=A1%40', ['a1@l.example']],
    ['q=+1415', ['+14155550100']],
    ['q=%25_', ['50%_off@l.example']],
    ['q=l.ex&reason=bounce', ['a3@l.example']],
    ['q=1&channel=email', ['a1@l.example']],
    ['q=l.example&tenant_id=TENANT', ['a2@l.example']],
  ])('AD-153 AD-157 lists newest first what matches "%s"', async (query, expected) => {
    expect(await values(query.replace('TENANT', tenantId))).toEqual(expected)
  })

  test.each(['q', 'reason', 'channel'])('AD-157 refuses a %s that is too long or unknown', async (name) => {
    const reply = await reader.ask('GET', `${path}?${name}=${'x'.repeat(201)}`)
    expect([reply.status, reply.body.errors[0].path]).toEqual([422, [name]])
  })

  test('AD-06 pages with a cursor, with and without a search', async () => {
    for (const query of ['', 'q=l.example&']) {
      const first = await reader.ask('GET', `${path}?${query}limit=3`)
      expect(first.body.has_more).toBe(true)
      const second = await reader.ask('GET', `${path}?${query}limit=3&cursor=${first.body.next_cursor}`)
      expect([second.body.has_more, second.body.next_cursor]).toEqual([false, null])
      const both = [...first.body.data, ...second.body.data].map(({ value }) => value)
      expect(both).toEqual(await values(query))
    }
  })

  test('SD-90 one request searches a window of rows, and the next goes on after it', async () => {
    for (const window of [1, 2, 5, 100]) {
      const find = makeFindSuppressions({ db: t.service.db, window })
      const found: string[] = []
      let next: Awaited<ReturnType<typeof find>>['next'] | undefined
      do {
        const page = await find(own.org.id, { q: 'a', channel: 'email', limit: 1, cursor: next ?? undefined })
        expect(page.rows.length).toBeLessThanOrEqual(1)
        found.push(...page.rows.map(({ value }) => value))
        next = page.next
      } while (next)
      expect(found).toEqual(['50%_off@l.example', 'a3@l.example', 'a2@l.example', 'a1@l.example'])
    }
  })

  test.each([
    ['the org', searchSuppressions.all, 'suppressions_page'],
    ['a tenant', searchSuppressions.byTenant, 'suppressions_tenant_page'],
  ] as const)('SD-90 a search in %s goes to its page through an index', async (_, { text, params }, index) => {
    const client = await t.service.db.connect()
    try {
      await client.query('set plan_cache_mode = force_generic_plan')
      await client.query('set enable_seqscan = off')
      await client.query('set enable_bitmapscan = off')
      await client.query(`prepare planned as ${text}`)
      const { rows } = await client.query(`explain (costs off) execute planned(${params.map(() => 'null').join(', ')})`)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      expect(plan).toContain(`using ${index} `)
      expect(plan).toMatch(/Index Cond: .*ROW\(created_at, id\) < ROW/)
    } finally {
      await client.end()
    }
  })
})
