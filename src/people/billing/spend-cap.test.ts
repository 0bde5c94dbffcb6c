/** The spend cap as the dashboard sets it, the mails about it, and the countries of text messages. */
import { afterAll, describe, expect, test } from 'vitest'
import { trailOf } from '../../../test/audit/trail.ts'
import { mail, mailer } from '../../../test/clients/mailer.ts'
import { mailsTo, person } from '../../../test/clients/team-client.ts'
import { text, texter } from '../../../test/clients/texter.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { beginOtherTransaction } from '../../../test/service/other-transaction.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { Plan } from '../../customers/orgs/plans.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import { claimAlertMails } from './store/alert-mail-rows.ts'

const t = await startTestService()
const second = await startTestService({ database: t.database })
afterAll(async () => {
  await second.stop()
  await t.stop()
})
const route = '/api/internal/billing'
const geoRoute = '/api/internal/org/sms-geo'

const begin = async (plan: Plan = 'payg') => {
  const own = await mailer(t, { plan })
  const owner = await person(t, { orgId: own.orgId, role: 'owner' })
  const cap = (value: unknown) => owner.ask('PATCH', route, { spend_cap_usd: value })
  return { ...own, owner, cap }
}
const entries = async (orgId: string, action: string) =>
  (await trailOf(t.database, orgId)).filter((entry) => entry.action === action)
const recipients = Array.from({ length: 50 }, (_, i) => `r${i}@example.com`)
/** Both processes have the same time, as claims need it. */
const advance = (seconds: number) => {
  for (const { service } of [t, second]) (service.clock as MovableClock).advance(seconds * 1_000)
}
const billing = (service = t) => service.ask('POST', '/api/dev/run', { body: { task: 'billing' } })

describe('the spend cap', () => {
  test('A-314 A-198 AD-127 is set, changed and removed with an entry each, and an unchanged one writes none', async () => {
    const { orgId, owner, cap } = await begin()
    for (const value of [200, 200, 0.29, 0, null, null, 1_000_000]) {
      const reply = await cap(value)
      expect([reply.status, reply.body.spend_cap_usd]).toEqual([200, value])
    }
    expect((await owner.ask('GET', route)).body.spend.cap).toBe('1000000.00')
    const written = await entries(orgId, 'org.spend_cap_updated')
    expect(written.map(({ metadata, actor_user_id }) => [metadata, actor_user_id])).toEqual([
      [{ old: null, new: 200 }, owner.userId],
      [{ old: 200, new: 0.29 }, owner.userId],
      [{ old: 0.29, new: 0 }, owner.userId],
      [{ old: 0, new: null }, owner.userId],
      [{ old: null, new: 1_000_000 }, owner.userId],
    ])
  })

  test('AD-127 R-52 refuses what is not an amount, and an empty patch', async () => {
    const { orgId, owner, cap } = await begin()
    for (const value of [-1, -0.01, 1_000_000.01, 1.001, '200', true, [], {}]) {
      const reply = await cap(value)
      expect([reply.status, reply.body.code], JSON.stringify(value)).toEqual([422, 'VALIDATION_ERROR'])
    }
    const empty = await owner.ask('PATCH', route, {})
    expect([empty.status, empty.body.code]).toEqual([422, 'NO_FIELDS'])
    expect(await entries(orgId, 'org.spend_cap_updated')).toEqual([])
  })

  test('X-307 X-308 X-309 a send lands exactly on the cap, the next is refused, and one that is free is sent', async () => {
    const { orgId, cap, send, test: testKey } = await begin()
    await cap(0.09)
    for (let i = 0; i < 2; i++) expect((await send(mail({ to: recipients }))).status).toBe(200)
    const before = await t.database.sql('select count(*) from messages where org_id = $1', [orgId])
    expectRefusal(await send(mail()), 'SPEND_CAP_EXCEEDED')
    expect(await t.database.sql('select count(*) from messages where org_id = $1', [orgId])).toEqual(before)
    expect((await send(mail(), { key: testKey })).status).toBe(200)
    expect((await cap(0.01)).body.spend).toEqual({
      currency: 'USD',
      used: '0.090000',
      cap: '0.01',
      remaining: '0.000000',
    })
    await cap(null)
    expect((await send(mail())).status).toBe(200)
  })

  test('X-310 a scheduled message waits while the cap is reached', async () => {
    const { cap, send } = await begin()
    const at = new Date(t.service.clock.millis() + 60_000).toISOString()
    const { body } = await send(mail({ scheduled_at: at }))
    await cap(0)
    advance(61)
    const statusAfterPass = async () => {
      await t.ask('POST', '/api/dev/run', { body: { task: 'scheduler' } })
      return (await t.database.sql<{ status: string }>('select status from messages where id = $1', [body.id]))[0]
    }
    expect(await statusAfterPass()).toEqual({ status: 'scheduled' })
    await cap(null)
    advance(3_601)
    expect(await statusAfterPass()).toEqual({ status: 'sent' })
  })
})

describe('mails about the cap', () => {
  test('X-122 AD-127 every owner gets one mail for each threshold, however many processes send them', async () => {
    const { orgId, owner, cap, send } = await begin()
    const other = await person(t, { orgId, role: 'owner' })
    const developer = await person(t, { orgId, role: 'developer' })
    await cap(0.05)
    expect((await send(mail({ to: recipients }))).status).toBe(200)
    const subjects = async (address: string) => (await mailsTo(t, address)).map(({ subject }) => subject)
    const run = () => Promise.all([t, second, t, second].map((service) => billing(service)))
    await run()
    const eighty = 'Acme has reached 80 percent of its spend cap'
    const hundred = 'Acme has reached 100 percent of its spend cap'
    for (const { email } of [owner, other]) await expect.poll(() => subjects(email)).toEqual([eighty])
    const [first] = await mailsTo(t, owner.email)
    expect(first?.text).toContain('Acme has spent $0.04 of its cap of $0.05 in')
    await send(mail({ to: recipients.slice(0, 5) }))
    await cap(0.04)
    await cap(0.05)
    await send(mail({ to: ['last@example.com'] }))
    await t.database.sql(
      `insert into usage_alerts (org_id, period, channel, kind, threshold, created_at)
       values ($1, $2, 'sms', 'spend_cap', 100, $3), ($1, $2, 'email', 'spend_cap', 100, $3)
       on conflict do nothing`,
      [orgId, t.service.clock.now().toISOString().slice(0, 7), t.service.clock.now()],
    )
    await run()
    await run()
    for (const { email } of [owner, other]) {
      await expect.poll(async () => (await subjects(email)).sort()).toEqual([hundred, eighty])
    }
    expect(await subjects(developer.email)).toEqual([])
  })
})

describe('a claim of a mail about the cap', () => {
  test('AD-127 waits for a claim in another process and takes the mail only when that claim has expired', async () => {
    const { orgId, owner, cap, send } = await begin()
    await cap(0.05)
    expect((await send(mail({ to: recipients }))).status).toBe(200)
    const now = t.service.clock.now()
    const claim = { since: new Date(0), now, until: new Date(now.getTime() + 600_000), attempts: 5, limit: 50 }
    const other = await beginOtherTransaction(t.database)
    await other.sql(
      claimAlertMails.text,
      claimAlertMails.params.map((name) => claim[name as keyof typeof claim]),
    )
    const running = billing()
    await other.untilWaitedFor()
    await other.commit()
    expect((await running).status).toBe(200)
    const rows = () =>
      t.database.sql('select user_id, attempts, claimed_until, sent_at from spend_alert_mails where org_id = $1', [
        orgId,
      ])
    const held = { user_id: owner.userId, attempts: 1, claimed_until: claim.until, sent_at: null }
    const ofOwner = async () => (await rows()).filter(({ user_id }) => user_id === owner.userId)
    expect(await ofOwner()).toEqual([held])
    await t.service.modules.outbox.flushed()
    expect(await mailsTo(t, owner.email)).toEqual([])
    advance(601)
    await billing()
    await expect.poll(() => mailsTo(t, owner.email)).toHaveLength(1)
    expect(await ofOwner()).toMatchObject([{ attempts: 2, sent_at: expect.any(Date) }])
  })
})

describe('the countries of SMS', () => {
  const geoOf = async (plan: Plan = 'payg') => {
    const own = await texter(t)
    await t.database.sql('update orgs set plan = $2 where id = $1', [own.orgId, plan])
    const owner = await person(t, { orgId: own.orgId, role: 'owner' })
    const set = (countries: unknown) => owner.ask('PATCH', geoRoute, { countries })
    return { ...own, owner, set }
  }

  test('A-315 A-199 AD-128 are stored upper-case, sorted and once, and the next send obeys them', async () => {
    const { orgId, owner, set, send } = await geoOf()
    const fresh = await owner.ask('GET', geoRoute)
    expect([fresh.status, fresh.body]).toEqual([
      200,
      { countries: null, configured: false, updated_at: null, updated_by: null },
    ])
    const stored = await set(['us', 'GB', 'US'])
    const shown = {
      countries: ['GB', 'US'],
      configured: true,
      updated_at: expect.stringMatching(/Z$/),
      updated_by: owner.userId,
    }
    expect([stored.status, stored.body]).toEqual([200, shown])
    expect((await set(['GB', 'US'])).body, 'unchanged').toEqual(stored.body)
    expect((await send(text())).status).toBe(200)
    expect((await set([])).body.countries).toEqual([])
    expectRefusal(await send(text()), 'SMS_DESTINATION_NOT_ALLOWED')
    expect((await set(null)).body).toMatchObject({ countries: null, configured: false })
    expect((await send(text())).status).toBe(200)
    const written = await entries(orgId, 'org.sms_geo_updated')
    expect(written.map(({ metadata, actor_user_id }) => [metadata, actor_user_id])).toEqual([
      [{ countries: ['GB', 'US'] }, owner.userId],
      [{ countries: [] }, owner.userId],
      [{ countries: null }, owner.userId],
    ])
  })

  test('AD-128 R-52 an unknown code and an empty patch are 422, and nothing is stored', async () => {
    const { orgId, owner, set } = await geoOf()
    const unknown = await set(['US', 'xx'])
    expect([unknown.status, unknown.body]).toEqual([
      422,
      { error: 'Unknown country code: XX', code: 'VALIDATION_ERROR' },
    ])
    for (const value of ['US', [1], Array.from({ length: 301 }, () => 'US'), ['U'.repeat(21)]]) {
      expect((await set(value)).status).toBe(422)
    }
    const empty = await owner.ask('PATCH', geoRoute, {})
    expect([empty.status, empty.body.code]).toEqual([422, 'NO_FIELDS'])
    expect(await entries(orgId, 'org.sms_geo_updated')).toEqual([])
    expect((await owner.ask('GET', geoRoute)).body.countries).toBeNull()
  })
})
