/** An unsubscribe survives stronger suppressions of the same recipient and their removal. */
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { mail, mailer } from '../../../test/clients/mailer.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { makeTestDatabase } from '../../../test/service/database.ts'
import { migrateTo } from '../../../test/service/migrate-to.ts'
import { type Reply, sharedTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await sharedTestService()
const own = await mailer(t)
const { orgId, live } = own

const path = '/api/v1/suppressions'
const person = () => `ann-${newId('request')}@example.com`
const add = (value: string, key = live) => t.ask('POST', path, { key, body: { channel: 'email', value } })
const remove = (value: string, key = live) => t.ask('DELETE', `${path}?channel=email&value=${value}`, { key })
const listed = async (value: string) =>
  (await t.ask('GET', `${path}?channel=email&value=${value}`, { key: live })).body.data

const linkTo = (address: string, messageId: string | null = null, tenantId: string | null = null) => {
  const ref = { orgId, tenantId, environment: 'live' as const, address, messageId }
  return t.service.modules.links.unsubscribeUrl(ref).slice(t.url.length)
}
const titleOf = ({ text }: { text: string }) => text.match(/<h1>(.*)<\/h1>/)?.[1]
const headers = { 'content-type': 'application/x-www-form-urlencoded' }
const unsubscribe = async (address: string, messageId: string | null = null, tenantId: string | null = null) =>
  titleOf(await t.ask('POST', linkTo(address, messageId, tenantId), { raw: 'List-Unsubscribe=One-Click', headers }))
const pageTitle = async (address: string) => titleOf(await t.ask('GET', linkTo(address)))
const unsubscribeEvents = async (address: string) =>
  (
    await t.database.sql<{ data: unknown }>(
      "select data from events where org_id = $1 and event = 'message.unsubscribed' and data->>'recipient' = $2",
      [orgId, address],
    )
  ).map(({ data }) => data)
const bounce = (value: string, tenantId: string | null = null) =>
  t.service.db.tx((tx) =>
    t.service.modules.suppress(tx, {
      orgId,
      tenantId,
      channel: 'email',
      value,
      reason: 'bounce',
      source: 'provider',
      messageId: null,
      environment: 'live',
    }),
  )
const suppressAs = { bounce, manual: (value: string) => add(value) }
const sends = async (to: string, stream: string) => {
  const { status, body } = await own.send(mail({ to: [to], stream }))
  return status === 200 ? 'sent' : body.error.code
}

describe('an unsubscribe with a stronger suppression', () => {
  test('S-424 S-092 XD-22 is restored when a later bounce is removed, and can then be removed itself', async () => {
    const to = person()
    const messageId = newId('message')
    expect(await unsubscribe(to, messageId)).toBe('You are unsubscribed')
    const [first] = await listed(to)
    expect(first).toMatchObject({ reason: 'unsubscribe', scope: 'broadcast', message_id: messageId })
    await bounce(to)
    const bounced = { ...first, reason: 'bounce', scope: 'all', source: 'provider', message_id: null }
    expect(await listed(to)).toEqual([{ ...bounced, updated_at: expect.any(String) }])
    expect(await pageTitle(to)).toBe('You are already unsubscribed')

    const { id } = first
    const reply = await remove(to)
    expect([reply.status, reply.body]).toEqual([200, { id, deleted: true }])
    expect(await listed(to)).toEqual([{ ...first, updated_at: expect.any(String) }])
    expect([await sends(to, 'broadcast'), await sends(to, 'transactional')]).toEqual(['ALL_SUPPRESSED', 'sent'])
    expect([await unsubscribe(to), await pageTitle(to)]).toEqual(Array(2).fill('You are already unsubscribed'))
    expect(await unsubscribeEvents(to)).toHaveLength(1)

    expect((await remove(to)).body).toEqual({ id, deleted: true })
    expect([await listed(to), await sends(to, 'broadcast'), await pageTitle(to)]).toEqual([[], 'sent', 'Unsubscribe?'])
    expect((await remove(to)).status).toBe(404)
  })

  test.for(['bounce', 'manual'] as const)(
    'S-424 X-098 SD-112 XD-22 after a %s emits one event, is stored, and is restored when that is removed',
    async (reason) => {
      const to = person()
      const messageId = newId('message')
      await suppressAs[reason](to)
      const [before] = await listed(to)
      expect([
        await pageTitle(to),
        await unsubscribe(to, messageId),
        await unsubscribe(to),
        await unsubscribe(to, messageId),
      ]).toEqual([
        'Unsubscribe?',
        'You are unsubscribed',
        'You are already unsubscribed',
        'You are already unsubscribed',
      ])
      expect(await unsubscribeEvents(to)).toEqual([
        { channel: 'email', recipient: to, message_id: messageId, source: 'one_click' },
      ])
      expect(await listed(to)).toEqual([before])
      expect([await pageTitle(to), await sends(to, 'transactional')]).toEqual([
        'You are already unsubscribed',
        'ALL_SUPPRESSED',
      ])
      expect((await remove(to)).body).toEqual({ id: before.id, deleted: true })
      expect(await listed(to)).toEqual([
        {
          ...before,
          reason: 'unsubscribe',
          scope: 'broadcast',
          source: 'one_click',
          message_id: messageId,
          updated_at: expect.any(String),
        },
      ])
      expect([await sends(to, 'broadcast'), await sends(to, 'transactional')]).toEqual(['ALL_SUPPRESSED', 'sent'])
      // It is restored again after another bounce.
      await bounce(to)
      await remove(to)
      expect(await listed(to)).toMatchObject([{ reason: 'unsubscribe', message_id: messageId }])
    },
  )

  test('A-164 A-165 each removal is audited with the removed reason', async () => {
    const to = person()
    await bounce(to)
    await unsubscribe(to)
    const { trail } = await withTrail(t.database, orgId, async () => {
      await remove(to)
      await remove(to)
      await remove(to)
    })
    expect(trail.map(({ action, metadata }) => [action, metadata])).toMatchObject([
      ['suppression.removed', { channel: 'email', value: to, reason: 'bounce' }],
      ['suppression.removed', { channel: 'email', value: to, reason: 'unsubscribe' }],
    ])
  })

  test('XD-10 is restored when a test key removes its own suppression, and the test key cannot remove it', async () => {
    const to = person()
    await add(to, own.test)
    await unsubscribe(to)
    expect((await remove(to, own.test)).status).toBe(200)
    expect(await listed(to)).toMatchObject([{ reason: 'unsubscribe', source: 'one_click' }])
    const rejected = await remove(to, own.test)
    expect([rejected.status, rejected.body.error.code]).toEqual([403, 'ENVIRONMENT_ESCALATION'])
  })

  test('X-260 after a complaint emits one event, and the complaint stays', async () => {
    const to = person()
    await own.suppress(to, 'complaint')
    expect([await unsubscribe(to, newId('message')), await unsubscribe(to, newId('message'))]).toEqual([
      'You are unsubscribed',
      'You are already unsubscribed',
    ])
    expect(await unsubscribeEvents(to)).toHaveLength(1)
    expect((await remove(to)).body.error.code).toBe('SUPPRESSION_PROTECTED')
    expect(await listed(to)).toMatchObject([{ reason: 'complaint' }])
  })

  test('AD-107 is deleted with the tenant, also with a stronger suppression', async () => {
    const tenants = tenantClient(t, own)
    const tenantId = await tenants.made()
    const [bounced, unsubscribed] = [person(), person()]
    await bounce(bounced, tenantId)
    for (const to of [bounced, unsubscribed]) await unsubscribe(to, null, tenantId)
    await tenants.move('archive', tenantId)
    expect((await tenants.move('erase', tenantId)).status).toBe(200)
    expect(await t.database.sql('select 1 from suppressions where tenant_id = $1', [tenantId])).toEqual([])
  })
})

describe('concurrent changes', () => {
  /** The replies to removals that have read the row and then wait for a concurrent change of it. */
  const removeDuring = async (change: string, to: string, removals: (() => Promise<Reply>)[]): Promise<Reply[]> => {
    const client = new pg.Client(t.database.url)
    await client.connect()
    await client.query('begin')
    await client.query(`update suppressions set ${change} where value = $1`, [to])
    const replies = removals.map((removal) => removal())
    const waiting = `select 1 from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock' and query like '%merge into suppressions%'`
    await expect.poll(async () => (await t.database.sql(waiting)).length).toBe(removals.length)
    await client.query('commit')
    await client.end()
    return Promise.all(replies)
  }

  test('S-424 X-098 an unsubscribe, a bounce and a removal in any order leave the recipient unsubscribed', async () => {
    const people = Array.from({ length: 60 }, person)
    await Promise.all(people.map((to) => add(to)))
    const results = await Promise.all(
      people.flatMap((to, i) => {
        const actions = [() => unsubscribe(to), () => bounce(to), async () => (await remove(to)).status]
        return [0, 1, 2].map((n) => actions[(n + i) % 3]?.())
      }),
    )
    expect(new Set(results.filter((result) => typeof result === 'string'))).toEqual(new Set(['You are unsubscribed']))
    expect(new Set(results.filter((result) => typeof result === 'number'))).toEqual(new Set([200]))
    for (const to of people) {
      expect([await pageTitle(to), await unsubscribeEvents(to)]).toMatchObject(['You are already unsubscribed', [{}]])
      const [row] = await listed(to)
      if (row.reason !== 'unsubscribe') await remove(to)
      expect(await listed(to)).toMatchObject([{ reason: 'unsubscribe', source: 'one_click' }])
    }
  })

  test('S-424 only one removal of the same bounce succeeds, and none of them removes the unsubscribe', async () => {
    const to = person()
    await unsubscribe(to)
    await bounce(to)
    const removals = Array.from({ length: 5 }, () => () => remove(to))
    const statuses = (await removeDuring('value = value', to, removals)).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 404, 404, 404, 404])
    expect(await listed(to)).toMatchObject([{ reason: 'unsubscribe' }])
  })

  test.for([
    ['an unsubscribe', "unsubscribed_at = updated_at, unsubscribe_source = 'one_click'", 200, 'unsubscribe'],
    ['a complaint', "reason = 'complaint'", 409, 'complaint'],
  ] as const)(
    'S-424 X-300 %s that arrives between the read and the removal stays',
    async ([, change, status, reason]) => {
      const to = person()
      await add(to)
      const [reply] = await removeDuring(change, to, [() => remove(to)])
      expect(reply?.status).toBe(status)
      expect(await listed(to)).toMatchObject([{ reason }])
    },
  )

  test("XD-10 a live cause that arrives between a test key's read and its removal stays", async () => {
    const to = person()
    await add(to, own.test)
    const [reply] = await removeDuring("created_environment = 'live'", to, [() => remove(to, own.test)])
    expect(reply?.body.error.code).toBe('ENVIRONMENT_ESCALATION')
    expect(await listed(to)).toMatchObject([{ reason: 'manual' }])
  })
})

test('S-424 the migration stores existing unsubscribes so that they survive a later bounce', async () => {
  const database = await makeTestDatabase('empty')
  onTestFinished(database.drop)
  await migrateTo(database, '0007_lean_writes')
  const at = new Date('2026-01-02T03:04:05.000Z')
  await database.sql(
    "insert into orgs (id, name, slug, plan, created_at, updated_at) values ('org_1', 'A', 'a', 'free', $1, $1)",
    [at],
  )
  for (const [id, reason, source] of [
    ['sup_1', 'unsubscribe', 'email_link'],
    ['sup_2', 'bounce', 'provider'],
  ]) {
    await database.sql(
      `insert into suppressions
         (org_id, id, channel, value, reason, source, message_id, created_environment, created_at, updated_at)
       values ('org_1', $1, 'email', $1, $2, $3, 'msg_1', 'live', $4, $4)`,
      [id, reason, source, at],
    )
  }
  await migrateTo(database, '0008_unsubscribed')
  const rows = await database.sql(
    'select unsubscribed_at, unsubscribe_source, unsubscribe_message_id from suppressions order by id',
  )
  expect(rows.map((row) => Object.values(row))).toEqual([
    [at, 'email_link', 'msg_1'],
    [null, null, null],
  ])
})
