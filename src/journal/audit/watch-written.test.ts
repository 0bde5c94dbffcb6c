/** A process notices when an entry that it wrote disappears before it is linked. */
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { whole, writer } from '../../../test/audit/chain.ts'
import { tamper } from '../../../test/audit/tamper.ts'
import { mail, mailer } from '../../../test/clients/mailer.ts'
import { primaryOwner } from '../../../test/clients/team-client.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import { makeWrittenEntries } from './watch-written.ts'

const logFile = await openLogFile()
const t = await startTestService({
  env: { AUDIT_SIGNING_SECRET: 'secret', AUDIT_LOG_RETENTION_DAYS: '30' },
  log: logFile.log,
})
afterAll(async () => {
  await t.stop()
  await logFile.remove()
})
const { chain, db, modules } = t.service
const { one } = writer(t)
const { writtenEntries } = modules

const idOf = async (resourceId: string): Promise<string> => {
  const rows = await t.database.sql<{ id: string }>('select id from audit_entries where resource_id = $1', [resourceId])
  return rows[0]?.id as string
}
const vanish = (orgId: string) =>
  tamper(
    t.database,
    ['delete from audit_entries where org_id = $1', [orgId]],
    ['delete from audit_unlinked where org_id = $1', [orgId]],
  )
const loggedIds = async () => (await logFile.lines('audit entry lost')).map(({ level, entry_id }) => [level, entry_id])

test('an entry that is gone is logged, and an entry about it is chained', async () => {
  const { org } = await t.org()
  await one(org.id, 'gone')
  const id = await idOf('gone')
  await vanish(org.id)
  expect([await writtenEntries.check(), await writtenEntries.check()]).toEqual([1, 0])
  expect(await chain.link()).toBe(1)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 1, { missing: [id] }))
  await expect.poll(loggedIds).toEqual([[50, id]])
  const rows = await t.database.sql(
    'select action, resource_type, metadata from audit_entries where resource_id = $1',
    [id],
  )
  const metadata = { action: 'org.updated', via: 'system' }
  expect(rows).toEqual([{ action: 'audit.entry_lost', resource_type: 'audit', metadata }])
})

test('the entry of a send is noticed too', async () => {
  const client = await mailer(t)
  const { org } = client
  const reply = await client.send(mail())
  const [row] = await t.database.sql<{ id: string }>(
    "select id from audit_entries where org_id = $1 and action = 'message.sent'",
    [org.id],
  )
  expect([reply.status, row?.id]).toEqual([200, expect.any(String)])
  await vanish(org.id)
  await writtenEntries.check()
  await chain.link()
  expect((await chain.verify(org.id)).missing).toContain(row?.id)
})

test('entries that are waiting, linked, rolled back or deleted by retention are not reported', async () => {
  const { org } = await t.org()
  await one(org.id, 'waiting')
  const rolledBack = db.tx(async (tx) => {
    await modules.audit(tx, {
      orgId: org.id,
      actor: { kind: 'system' },
      action: 'org.updated',
      resourceType: null,
      resourceId: 'never',
    })
    throw new Error('rolled back')
  })
  await expect(rolledBack).rejects.toThrow('rolled back')
  expect(await writtenEntries.check()).toBe(0)
  await chain.link()
  expect(await writtenEntries.check()).toBe(0)
  await one(org.id, 'expired')
  ;(t.service.clock as MovableClock).advance(31 * 86_400_000)
  await t.service.tasks.retention?.run()
  expect(await idOf('expired')).toBeUndefined()
  expect(await writtenEntries.check()).toBe(0)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 0, { pruned: 'ok' }))
})

describe('the log of a deleted org', () => {
  const clock = t.service.clock as MovableClock
  const remove = async ({ id, slug }: { id: string; slug: string }) => {
    const owner = await primaryOwner(t, id)
    expect((await owner.ask('DELETE', '/api/internal/org', { confirm: slug })).status).toBe(200)
  }
  const purge = async () => {
    clock.advance(15 * 60_000)
    // The first run removes the domain of the org, which writes an entry.
    await t.service.tasks.deletions?.run()
    clock.advance(60_000)
    await t.service.tasks.deletions?.run()
  }
  const lostOf = async (orgId: string) =>
    (
      await t.database.sql<{ id: string }>(
        "select resource_id as id from audit_entries where org_id = $1 and action = 'audit.entry_lost' order by 1",
        [orgId],
      )
    ).map(({ id }) => id)
  const loggedOf = async (orgId: string) =>
    (await logFile.lines('audit entry lost')).filter((line) => line.org_id === orgId)

  test('goes within seconds after its last entry, and no entry is reported', async () => {
    const { org } = await t.org()
    await one(org.id, 'last')
    await remove(org)
    await purge()
    expect(await t.database.sql('select id from orgs where id = $1', [org.id])).toEqual([])
    expect(await idOf('last')).toBeUndefined()
    expect(await writtenEntries.check()).toBe(0)
    expect(await t.database.sql('select id from audit_entries where org_id = $1', [org.id])).toEqual([])
    expect(await loggedOf(org.id)).toEqual([])
  })

  test('stays as long as another process has the lock of its chain', async () => {
    const { org } = await t.org()
    await one(org.id, 'locked')
    await chain.link()
    await remove(org)
    const client = await db.connect()
    onTestFinished(() => client.end())
    await client.query('begin')
    await client.query('select org_id from audit_chains where org_id = $1 for update', [org.id])
    await purge()
    expect(await idOf('locked')).toEqual(expect.any(String))
    await client.query('rollback')
    await purge()
    expect(await idOf('locked')).toBeUndefined()
    expect(await writtenEntries.check()).toBe(0)
    expect(await chain.verify(org.id)).toEqual(whole(org.id, 0, { pruned: 'ok' }))
  })

  test('is watched until the service deletes it: a part of it that is gone before is reported', async () => {
    const { org } = await t.org()
    await one(org.id, 'kept')
    await chain.link()
    await one(org.id, 'taken')
    const id = await idOf('taken')
    await remove(org)
    await tamper(
      t.database,
      ['delete from audit_entries where id = $1', [id]],
      ['delete from audit_unlinked where entry_id = $1', [id]],
    )
    expect(await writtenEntries.check()).toBe(1)
    expect(await lostOf(org.id)).toEqual([id])
    await expect.poll(async () => (await loggedOf(org.id)).map(({ entry_id }) => entry_id)).toEqual([id])
  })

  test('is reported if someone else deletes it together with the org', async () => {
    const { org } = await t.org()
    await one(org.id, 'linked')
    await chain.link()
    await writtenEntries.check()
    await one(org.id, 'robbed')
    const id = await idOf('robbed')
    await remove(org)
    await vanish(org.id)
    await t.database.sql('delete from orgs where id = $1', [org.id])
    expect(await writtenEntries.check()).toBe(1)
    expect(await lostOf(org.id)).toEqual([id])
  })

  test('is reported if someone moves the old end of its chain to the head', async () => {
    const { org } = await t.org()
    await one(org.id, 'linked before')
    await chain.link()
    await writtenEntries.check()
    await one(org.id, 'moved past')
    const id = await idOf('moved past')
    await remove(org)
    await vanish(org.id)
    await t.database.sql(
      `update audit_chains set pruned_seq = head_seq, pruned_digest = head_digest, pruned_signature = head_signature
       where org_id = $1`,
      [org.id],
    )
    expect(await writtenEntries.check()).toBe(1)
    expect(await lostOf(org.id)).toEqual([id])
  })

  test('is apart from the log of an org that is created again with its slug', async () => {
    const { org } = await t.org({ name: 'Phoenix' })
    await one(org.id, 'former')
    await remove(org)
    const { org: again } = await t.org({ name: 'Phoenix' })
    expect([again.slug, again.id === org.id]).toEqual([org.slug, false])
    await purge()
    await one(again.id, 'present')
    const id = await idOf('present')
    await vanish(again.id)
    expect(await writtenEntries.check()).toBe(1)
    expect([await lostOf(org.id), await lostOf(again.id)]).toEqual([[], [id]])
  })
})

test('of many entries, sends are remembered by chance and all others always', async () => {
  const checked: string[] = []
  const rows = async (_: unknown, { ids }: { ids: string[] }) => {
    checked.push(...ids)
    return ids.map(() => ({ present: true, linked: true }))
  }
  const chances = [0.99, 0.062, 0.063, 0.5]
  const written = makeWrittenEntries({
    db: { rows } as unknown as Db,
    clock: t.service.clock,
    log: logFile.log,
    days: 30,
    secrets: ['secret'],
    audit: () => modules.audit,
    random: () => chances.shift() ?? 0.99,
  })
  onTestFinished(written.close)
  const first = Array.from({ length: 200 }, (_, i) => ({ orgId: 'org', id: `first${i}`, action: 'message.sent' }))
  const further = ['a', 'b', 'c', 'd'].map((id) => ({ orgId: 'org', id, action: 'message.sent' }))
  written.note([...first, ...further, { orgId: 'org', id: 'other', action: 'org.updated' }])
  expect(await written.check()).toBe(0)
  expect(checked).toEqual([...first.map(({ id }) => id), 'b', 'other'])
})

test('the process checks by itself', async () => {
  const { org } = await t.org()
  const other = await startTestService({ database: t.database, env: { AUDIT_SIGNING_SECRET: 'secret' } })
  onTestFinished(other.stop)
  await writer(other).one(org.id, 'unseen')
  const id = await idOf('unseen')
  await vanish(org.id)
  const found = () =>
    t.database.sql("select resource_id from audit_entries where org_id = $1 and action = 'audit.entry_lost'", [org.id])
  await expect.poll(found, { interval: 500 }).toEqual([{ resource_id: id }])
})
