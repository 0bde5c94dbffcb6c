/** The signing secret is changed and the former one is not kept: what goes on, what stays, and what the operator is told. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { linksOf, whole, writer } from '../../../test/audit/chain.ts'
import { tamper } from '../../../test/audit/tamper.ts'
import { primaryOwner } from '../../../test/clients/team-client.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { startTestService, type TestService } from '../../../test/service/service.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'

import { makeTrustEnds } from './trust-ends.ts'

const [former, present] = ['former-secret', 'present-secret']
const day = 86_400_000

type Era = { t: TestService; lines(message: string): Promise<Record<string, unknown>[]>; text(): Promise<string> }

/** A service on the database with these secrets. Time goes on where the service before stopped. */
const start = async (database: TestDatabase, secrets: string[], from = 0): Promise<Era> => {
  const logFile = await openLogFile()
  const [current = '', ...others] = secrets
  const t = await startTestService({
    database,
    log: logFile.log,
    env: {
      AUDIT_SIGNING_SECRET: current,
      AUDIT_SIGNING_SECRET_PREVIOUS: others.join(','),
      AUDIT_LOG_RETENTION_DAYS: '30',
    },
  })
  onTestFinished(async () => {
    await t.stop()
    await logFile.remove()
  })
  const clock = t.service.clock as MovableClock
  if (from > clock.millis()) clock.advance(from - clock.millis())
  return { t, lines: logFile.lines, text: logFile.text }
}

const makeDatabase = async () => {
  const database = await makeTestDatabase()
  onTestFinished(database.drop)
  return database
}

const runRetention = async ({ t }: Era) => (await t.service.tasks.retention?.run())?.audit_entries_deleted
const advance = ({ t }: Era, ms: number) => (t.service.clock as MovableClock).advance(ms)
const remaining = async ({ t }: Era, orgId: string) => (await linksOf(t, orgId)).map(({ resource_id }) => resource_id)
const unverified = async ({ t }: Era) =>
  Number(/^audit_chains_unverified (\d+)$/m.exec((await t.ask('GET', '/metrics')).text)?.[1])
const trust = async ({ t }: Era, orgId: string) => {
  const { db, clock } = t.service
  return makeTrustEnds({ db, clock, audit: t.service.modules.audit, secrets: [present] })(orgId, 'ann')
}

/** Two orgs with linked entries of the former secret, and a service that knows only the present one. */
const loseSecret = async () => {
  const database = await makeDatabase()
  const before = await start(database, [former])
  const orgs = [(await before.t.org()).org.id, (await before.t.org()).org.id].sort() as [string, string]
  for (const orgId of orgs) for (const name of ['a', 'b']) await writer(before.t).one(orgId, name)
  await before.t.service.chain.link()
  const after = await start(database, [present], before.t.service.clock.millis())
  return { database, before, after, orgs }
}

const told = ({ lines }: Era) => lines('audit chains not verified')

const advice =
  'If AUDIT_SIGNING_SECRET was changed, add its former value to AUDIT_SIGNING_SECRET_PREVIOUS and restart. Otherwise someone may have changed the log: run `tidings ops audit verify --all`. See docs/audit.md.'

test('the log of an org that is created afterwards is chained, verified and deleted in time', async () => {
  const { after } = await loseSecret()
  const { chain } = after.t.service
  const { org } = await after.t.org()
  const { one } = writer(after.t)
  await one(org.id, 'x')
  expect(await chain.link()).toBe(1)
  // The register itself does not verify, which every report says.
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 1, { register: 'invalid' }))
  advance(after, 31 * day)
  await one(org.id, 'y')
  expect(await runRetention(after)).toBe(1)
  expect(await remaining(after, org.id)).toEqual(['y'])
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 1, { pruned: 'ok', register: 'invalid' }))
})

test('the logs of earlier orgs are kept, and so are the entries that they get', async () => {
  const { after, orgs } = await loseSecret()
  const { chain } = after.t.service
  advance(after, 31 * day)
  await writer(after.t).one(orgs[0], 'c')
  expect(await runRetention(after)).toBe(0)
  for (const orgId of orgs) expect(await remaining(after, orgId)).toEqual(['a', 'b'])
  expect(await chain.verify(orgs[0])).toMatchObject({ checked: 2, head: 'invalid', register: 'invalid', waiting: 1 })
})

test('the operator is told once, in one line for all orgs, and by a metric', async () => {
  const { after, orgs } = await loseSecret()
  const { org } = await after.t.org()
  const { one } = writer(after.t)
  for (const orgId of [...orgs, org.id]) await one(orgId, 'c')
  for (let n = 0; n < 3; n++) await after.t.service.chain.link()
  advance(after, 30 * day)
  for (let night = 0; night < 3; night++) {
    advance(after, day)
    for (const orgId of [...orgs, org.id]) await one(orgId, 'd')
    await runRetention(after)
  }
  await expect
    .poll(() => told(after))
    .toMatchObject([
      {
        level: 50,
        chains: 3,
        org_ids: [...orgs, 'register'],
        faults: { 'the head of the audit chain is invalid': 2, 'the audit register is invalid': 1 },
        advice,
      },
    ])
  expect(await unverified(after)).toBe(3)
  const others = (await after.text()).split('\n').filter((line) => /"level":(40|50)/.test(line))
  expect(others).toHaveLength(1)
})

test('the metric forgets what another process may have found repaired', async () => {
  const { after } = await loseSecret()
  await after.t.service.tasks.upkeep?.run()
  expect(await unverified(after)).toBe(3)
  advance(after, 2 * 3_600_000)
  expect(await unverified(after)).toBe(0)
})

test('the operator is told within the hour even if no org writes an entry', async () => {
  const { after, orgs } = await loseSecret()
  await after.t.service.tasks.upkeep?.run()
  await expect.poll(() => told(after)).toMatchObject([{ chains: 3, org_ids: [...orgs, 'register'] }])
})

test('a chain that is changed later makes a line of its own', async () => {
  const database = await makeDatabase()
  const era = await start(database, [present])
  const [a, b] = [(await era.t.org()).org.id, (await era.t.org()).org.id]
  const { one } = writer(era.t)
  for (const orgId of [a, b]) await one(orgId, 'a')
  await era.t.service.chain.link()
  for (const orgId of [a, b]) {
    await database.sql("update audit_chains set head_signature = repeat('0', 64) where org_id = $1", [orgId])
    await one(orgId, 'b')
    await era.t.service.chain.link()
    await era.t.service.chain.link()
  }
  await expect
    .poll(async () => (await told(era)).map(({ chains, org_ids }) => [chains, org_ids]))
    .toEqual([
      [1, [a]],
      [1, [b]],
    ])
  expect(await unverified(era)).toBe(2)
})

test('with the former secret back, everything goes on and the metric is 0', async () => {
  const { database, after, orgs } = await loseSecret()
  const { org } = await after.t.org()
  await writer(after.t).one(org.id, 'x')
  await writer(after.t).one(orgs[0], 'c')
  await after.t.service.chain.link()
  const kept = await start(database, [present, former], after.t.service.clock.millis())
  const { chain } = kept.t.service
  expect(await chain.link()).toBe(1)
  await kept.t.service.tasks.upkeep?.run()
  for (const [orgId, n] of [
    [orgs[0], 3],
    [orgs[1], 2],
    [org.id, 1],
  ] as const) {
    expect(await chain.verify(orgId)).toEqual(whole(orgId, n))
  }
  expect(await database.sql('select 1 from audit_register where org_id = $1', [org.id])).toHaveLength(1)
  advance(kept, 31 * day)
  expect(await runRetention(kept)).toBe(6)
  expect(await unverified(kept)).toBe(0)
  expect(await told(kept)).toEqual([])
})

test('ends that a former secret signed are signed again, so that it can be removed when its entries are gone', async () => {
  const { database, before, orgs } = await loseSecret()
  const owner = await primaryOwner(before.t, orgs[1])
  const [deleted] = await database.sql<{ slug: string }>('select slug from orgs where id = $1', [orgs[1]])
  await owner.ask('DELETE', '/api/internal/org', { confirm: deleted?.slug })
  for (let n = 0; n < 2; n++) {
    advance(before, 15 * 60_000)
    await before.t.service.tasks.deletions?.run()
  }
  expect(await database.sql('select id from orgs where id = $1', [orgs[1]])).toEqual([])
  const both = await start(database, [present, former], before.t.service.clock.millis())
  await both.t.service.tasks.upkeep?.run()
  advance(both, 31 * day)
  expect(await runRetention(both)).toBe(2)
  const later = await start(database, [present], both.t.service.clock.millis())
  await later.t.service.tasks.upkeep?.run()
  for (const orgId of orgs) {
    expect(await later.t.service.chain.verify(orgId)).toEqual(whole(orgId, 0, { pruned: 'ok' }))
  }
  expect([await unverified(later), await told(later)]).toEqual([0, []])
})

test('an end that was moved is not signed again', async () => {
  const { database, before, orgs } = await loseSecret()
  await database.sql("update audit_chains set head_signature = repeat('0', 64) where org_id = $1", [orgs[0]])
  await database.sql("update audit_register_head set signature = repeat('0', 64)")
  const both = await start(database, [present, former], before.t.service.clock.millis())
  await both.t.service.tasks.upkeep?.run()
  const { chain } = both.t.service
  expect(await chain.verify(orgs[0])).toEqual(whole(orgs[0], 2, { head: 'invalid', register: 'invalid' }))
  await expect.poll(() => told(both)).toMatchObject([{ chains: 2, org_ids: [orgs[0], 'register'] }])
})

describe('after an operator has trusted the chain', () => {
  test('its old entries are deleted in time and it goes on', async () => {
    const { after, orgs } = await loseSecret()
    const { chain, tasks } = after.t.service
    const { org } = await after.t.org()
    await writer(after.t).one(org.id, 'x')
    await writer(after.t).one(orgs[0], 'c')
    await chain.link()
    expect(await unverified(after)).toBe(3)
    expect(await trust(after, orgs[0])).toEqual({ head: 'invalid', pruned: 'none' })
    expect(await chain.link()).toBe(2)
    await tasks.upkeep?.run()
    expect(await unverified(after)).toBe(1)
    // The register is trusted too, so it names the org that began without it.
    expect(await chain.verify(org.id)).toEqual(whole(org.id, 1))
    advance(after, 31 * day)
    await writer(after.t).one(orgs[0], 'young')
    expect(await runRetention(after)).toBe(5)
    expect(await remaining(after, orgs[0])).toEqual(['young'])
    expect(await chain.verify(orgs[0])).toEqual(whole(orgs[0], 1, { pruned: 'ok' }))
    expect(await remaining(after, orgs[1])).toEqual(['a', 'b'])
  })

  test('an entry whose content was changed since then stays, and retention stops before it', async () => {
    const { database, after, orgs } = await loseSecret()
    const [orgId] = orgs
    await trust(after, orgId)
    const [first, second] = await linksOf(after.t, orgId)
    await tamper(database, ["update audit_entries set action = 'x' where id = $1", [second?.entry_id]])
    advance(after, 31 * day)
    await runRetention(after)
    expect((await linksOf(after.t, orgId)).map(({ entry_id }) => entry_id)).not.toContain(first?.entry_id)
    expect((await linksOf(after.t, orgId))[0]?.entry_id).toBe(second?.entry_id)
    await expect
      .poll(async () => (await after.lines('audit retention stopped')).map(({ entry_id, fault }) => [entry_id, fault]))
      .toEqual([[second?.entry_id, 'broken']])
  })

  test('an entry of a known secret that does not verify stays all the same', async () => {
    const { database, after, orgs } = await loseSecret()
    const [orgId] = orgs
    await trust(after, orgId)
    await writer(after.t).one(orgId, 'c')
    await after.t.service.chain.link()
    await trust(after, orgId)
    await after.t.service.chain.link()
    const link = (await linksOf(after.t, orgId)).find(({ resource_id }) => resource_id === 'c')
    await tamper(database, ["update audit_entries set actor_user_id = 'usr_x' where id = $1", [link?.entry_id]])
    advance(after, 31 * day)
    await runRetention(after)
    expect((await remaining(after, orgId))[0]).toBe('c')
    await expect
      .poll(async () => (await after.lines('audit retention stopped')).map(({ entry_id, fault }) => [entry_id, fault]))
      .toEqual([[link?.entry_id, 'invalid']])
  })

  test('only a signed decision counts', async () => {
    const { database, after, orgs } = await loseSecret()
    const [orgId, other] = orgs
    await trust(after, orgId)
    await after.t.service.chain.link()
    // Someone changes the decision about the other chain.
    await trust(after, other)
    await tamper(database, [
      "update audit_entries set metadata = metadata || '{\"seq\": 999}' where org_id = $1 and action = 'audit.ends_signed'",
      [other],
    ])
    advance(after, 31 * day)
    await runRetention(after)
    expect(await remaining(after, orgId)).toEqual([])
    expect((await remaining(after, other)).slice(0, 2)).toEqual(['a', 'b'])
  })
})

test('a former secret that is removed too early keeps the entries that it signed, and the operator is told once', async () => {
  const { database, orgs } = await loseSecret()
  const kept = await start(database, [present, former])
  for (const orgId of orgs) await writer(kept.t).one(orgId, 'c')
  await kept.t.service.chain.link()
  const { org } = await kept.t.org()
  await writer(kept.t).one(org.id, 'x')
  await kept.t.service.chain.link()
  const removed = await start(database, [present], kept.t.service.clock.millis())
  advance(removed, 31 * day)
  expect([await runRetention(removed), await runRetention(removed)]).toEqual([1, 0])
  for (const orgId of orgs) expect(await remaining(removed, orgId)).toEqual(['a', 'b', 'c'])
  await expect
    .poll(() => told(removed))
    .toMatchObject([
      {
        chains: 2,
        org_ids: orgs,
        faults: { 'an expired entry has no signature of a configured secret': 2 },
        advice,
      },
    ])
  expect(await removed.lines('audit retention stopped')).toEqual([])
  expect(await unverified(removed)).toBe(2)
  for (const orgId of orgs) await trust(removed, orgId)
  expect(await runRetention(removed)).toBe(6)
  expect(await unverified(removed)).toBe(0)
})

test('the log of an org that is deleted stays until an operator trusts it, which is logged once', async () => {
  const { database, after, orgs } = await loseSecret()
  const [orgId] = orgs
  const { slug } = (await database.sql<{ slug: string }>('select slug from orgs where id = $1', [orgId]))[0] as {
    slug: string
  }
  const owner = await primaryOwner(after.t, orgId)
  expect((await owner.ask('DELETE', '/api/internal/org', { confirm: slug })).status).toBe(200)
  const purge = async () => {
    advance(after, 15 * 60_000)
    await after.t.service.tasks.deletions?.run()
  }
  for (let n = 0; n < 3; n++) await purge()
  expect(await remaining(after, orgId)).toEqual(['a', 'b'])
  await expect
    .poll(async () => (await after.lines('audit log of deleted org kept')).map(({ org_id, fault }) => [org_id, fault]))
    .toEqual([[orgId, 'the head of the audit chain is invalid']])
  await trust(after, orgId)
  await purge()
  expect(await remaining(after, orgId)).toEqual([])
  expect(await after.t.service.chain.verify(orgId)).toEqual(whole(orgId, 0, { pruned: 'ok' }))
})

test('an org that begins while the register does not verify leaves the register as it is', async () => {
  const { database, after } = await loseSecret()
  const head = () => database.sql('select seq::int as seq, signature from audit_register_head')
  const before = await head()
  const { org } = await after.t.org()
  await writer(after.t).one(org.id, 'x')
  await after.t.service.chain.link()
  await after.t.service.tasks.upkeep?.run()
  expect(await head()).toEqual(before)
  expect(await database.sql('select 1 from audit_register where org_id = $1', [org.id])).toEqual([])
})
