/** A process notices when an entry that it wrote disappears before it is linked. */
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { whole, writer } from '../../test/audit/chain.ts'
import { tamper } from '../../test/audit/tamper.ts'
import { mail, mailer } from '../../test/clients/mailer.ts'
import { openLogFile } from '../../test/service/log-file.ts'
import { startTestService } from '../../test/service/service.ts'
import type { MovableClock } from '../ground/clock.ts'

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

test('the process checks by itself', async () => {
  const { org } = await t.org()
  const other = await startTestService({ database: t.database, env: { AUDIT_SIGNING_SECRET: 'secret' } })
  onTestFinished(other.stop)
  await writer(other).one(org.id, 'unseen')
  const id = await idOf('unseen')
  await vanish(org.id)
  const found = () =>
    t.database.sql("select resource_id from audit_entries where org_id = $1 and action = 'audit.entry_lost'", [org.id])
  await expect.poll(found, { timeout: 20_000, interval: 500 }).toEqual([{ resource_id: id }])
})
