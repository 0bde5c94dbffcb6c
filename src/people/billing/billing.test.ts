/** The billing routes of the dashboard with the local payment provider, from the upgrade to the end of the plan. */
import { afterAll, describe, expect, test } from 'vitest'
import { trailOf } from '../../../test/audit/trail.ts'
import { addMember, addPerson } from '../../../test/clients/people.ts'
import { type Member, person, primaryOwner } from '../../../test/clients/team-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { Plan } from '../../customers/orgs/plans.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService()
const second = await startTestService({ database: t.database })
afterAll(async () => {
  await second.stop()
  await t.stop()
})
const clock = t.service.clock as MovableClock

const route = '/api/internal/billing'

const begin = async (plan: Plan) => {
  const { org, keys } = await t.org({ plan })
  const owner = await person(t, { orgId: org.id, role: 'owner' })
  return { orgId: org.id, keys, owner }
}
const planEntries = async (orgId: string) =>
  (await trailOf(t.database, orgId))
    .filter(({ action }) => String(action).startsWith('plan.'))
    .map(({ action, actor_user_id, resource_type, resource_id, metadata }) => ({
      action,
      actor_user_id,
      resource_type,
      resource_id,
      metadata,
    }))
const entryOf = (orgId: string, action: string, from: Plan, to: Plan) => ({
  action,
  actor_user_id: null,
  resource_type: 'org',
  resource_id: orgId,
  metadata: { from, to, via: 'system' },
})
const form = (url: string, action: string) =>
  t.ask('POST', new URL(url).pathname, {
    raw: `action=${action}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
const pay = async (owner: Member, plan: Plan) => {
  const reply = await owner.ask('POST', route, { plan })
  expect(reply.status).toBe(200)
  return form(reply.body.checkout_url, 'pay')
}
const planOf = async (owner: Member) => (await owner.ask('GET', route)).body.plan
const devBilling = (body: unknown) => t.ask('POST', '/api/dev/billing', { body })

describe('reading', () => {
  test('AD-126 A-313 every member reads plan, cap, usage and limits', async () => {
    const { orgId } = await begin('payg')
    await t.database.sql('update orgs set spend_cap_micros = 200000000 where id = $1', [orgId])
    const viewer = await person(t, { orgId, role: 'viewer' })
    const reply = await viewer.ask('GET', route)
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        plan: 'payg',
        status: 'active',
        period: clock.now().toISOString().slice(0, 7),
        spend_cap_usd: 200,
        spend: { currency: 'USD', used: '0.000000', cap: '200.00', remaining: '200.000000' },
        usage: {
          email: { used: 0, limit: null, remaining: null },
          sms: { used: 0, segments: 0, limit: null, remaining: null },
        },
        limits: { api_keys: { used: 2, max: 50 }, domains: { used: 1, max: 10 }, members: { used: 3, max: null } },
        payment_method: null,
        next_invoice_at: null,
      },
    ])
  })
})

describe('an upgrade', () => {
  test('A-313 A-195 AD-126 checkout, its page and its button change the plan, in every process', async () => {
    const { orgId, keys, owner } = await begin('free')
    const opened = await owner.ask('POST', route, { plan: 'pro' })
    expect([opened.status, Object.keys(opened.body)]).toEqual([200, ['checkout_url']])
    const url: string = opened.body.checkout_url
    expect(url).toMatch(new RegExp(`^${RegExp.escape(t.url)}/billing/checkout/[\\w.-]+$`))
    expect([await planOf(owner), await planEntries(orgId)], 'checkout alone changes nothing').toEqual(['free', []])
    await second.ask('GET', '/api/v1/usage', { key: keys.live })

    const page = await t.ask('GET', new URL(url).pathname)
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(page.headers['content-security-policy']).toContain("default-src 'none'")
    expect(page.text).toContain('<button type="submit" name="action" value="pay">Pay</button>')
    expect(page.text).not.toContain('<script')
    const done = await form(url, 'pay')
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('Payment complete')])

    const { body } = await owner.ask('GET', route)
    expect(body).toMatchObject({
      plan: 'pro',
      status: 'active',
      payment_method: { brand: 'visa', last4: '4242' },
      next_invoice_at: expect.stringMatching(/Z$/),
    })
    expect(await planEntries(orgId)).toEqual([entryOf(orgId, 'plan.upgraded', 'free', 'pro')])
    const usage = async () => (await second.ask('GET', '/api/v1/usage', { key: keys.live })).body.plan
    await expect.poll(usage).toBe('pro')
  })

  test('AD-126 a second click on the button, and the link afterwards, change nothing more', async () => {
    const { orgId, owner } = await begin('free')
    const { body } = await owner.ask('POST', route, { plan: 'payg' })
    await form(body.checkout_url, 'pay')
    await devBilling({ org_id: orgId, plan: 'pro' })
    const again = await form(body.checkout_url, 'pay')
    expect([again.status, again.text]).toEqual([200, expect.stringContaining('has the plan pro')])
    expect(await planEntries(orgId)).toEqual([
      entryOf(orgId, 'plan.upgraded', 'free', 'payg'),
      entryOf(orgId, 'plan.upgraded', 'payg', 'pro'),
    ])
  })

  test('AD-126 a page without the button, and a link that is altered or too old, change nothing', async () => {
    const { orgId, owner } = await begin('free')
    const { body } = await owner.ask('POST', route, { plan: 'payg' })
    const other = await form(body.checkout_url, 'other')
    expect([other.status, other.text]).toEqual([200, expect.stringContaining('Upgrade to payg')])
    const portal = await owner.ask('POST', `${route}/portal`)
    const wrong = [
      `${body.checkout_url}x`,
      `${t.url}/billing/checkout/nonsense`,
      portal.body.portal_url.replace('/portal/', '/checkout/'),
      body.checkout_url.replace('/checkout/', '/portal/'),
    ]
    for (const url of wrong) {
      const reply = await form(url, 'pay')
      expect([reply.status, reply.text]).toEqual([404, expect.stringContaining('This link is not valid')])
    }
    clock.advance(25 * 3_600_000)
    expect((await form(body.checkout_url, 'pay')).status).toBe(404)
    expect([await planOf(owner), await planEntries(orgId)]).toEqual(['free', []])
  })

  test('AD-126 the present or a lower plan is 409, enterprise is 422 with the contact, any other text is 422', async () => {
    const { orgId, owner } = await begin('pro')
    for (const plan of ['pro', 'payg', 'free']) {
      const reply = await owner.ask('POST', route, { plan })
      expect([reply.status, reply.body]).toEqual([
        409,
        { error: 'Your organisation already has this plan or a higher one', code: 'PLAN_NOT_HIGHER' },
      ])
    }
    const message = 'The enterprise plan is agreed by contract. Write to billing@tidings.test.'
    const enterprise = await owner.ask('POST', route, { plan: 'enterprise' })
    expect([enterprise.status, enterprise.body]).toEqual([
      422,
      { error: message, code: 'VALIDATION_ERROR', errors: [{ path: ['plan'], code: 'custom', message }] },
    ])
    for (const body of [{}, { plan: 'gold' }, { plan: null }]) {
      expect((await owner.ask('POST', route, body)).status).toBe(422)
    }
    expect(await planEntries(orgId)).toEqual([])
  })

  test('S-212 A-050 A-313 A-314 a developer, a member and a viewer are refused before the body is read', async () => {
    const { orgId } = await begin('free')
    for (const role of ['developer', 'member', 'viewer']) {
      const other = await person(t, { orgId, role })
      const calls = [
        ['POST', route, { plan: 'pro' }],
        ['PATCH', route, { spend_cap_usd: 5 }],
        ['POST', `${route}/portal`, undefined],
        ['PATCH', '/api/internal/org/sms-geo', { countries: [] }],
      ] as const
      for (const [method, path, body] of calls) {
        const reply = await other.ask(method, path, body)
        expect([reply.status, reply.body], `${role} ${method} ${path}`).toEqual([403, { error: 'Owner role required' }])
      }
    }
    expect((await trailOf(t.database, orgId)).map(({ action }) => action)).not.toContain('org.spend_cap_updated')
  })

  test('AD-72 billing stays open while the org is suspended, and the countries of SMS do not', async () => {
    const { orgId, owner } = await begin('free')
    await t.database.sql("update orgs set suspended_at = created_at, suspension_reason = 'bill' where id = $1", [orgId])
    expect((await pay(owner, 'payg')).status).toBe(200)
    expect(await planOf(owner)).toBe('payg')
    expect((await owner.ask('PATCH', route, { spend_cap_usd: 1 })).status).toBe(200)
    expect((await owner.ask('POST', `${route}/portal`)).status).toBe(200)
    const geo = await owner.ask('PATCH', '/api/internal/org/sms-geo', { countries: [] })
    expect([geo.status, geo.body.code]).toEqual([403, 'ORG_SUSPENDED'])
  })
})

describe('a cancellation', () => {
  test('A-196 AD-126 the plan stays until the period ends, and then is free', async () => {
    const { orgId, owner } = await begin('free')
    await pay(owner, 'pro')
    const portal = (await owner.ask('POST', `${route}/portal`)).body.portal_url
    expect((await t.ask('GET', new URL(portal).pathname)).text).toContain('Cancel at the end of the period')
    expect((await form(portal, 'cancel')).text).toContain('keeps the plan pro until the period ends')
    const { body } = await owner.ask('GET', route)
    expect(body).toMatchObject({ plan: 'pro', status: 'canceling', next_invoice_at: null })
    expect(Date.parse(body.ends_at)).toBeGreaterThan(clock.millis() + 29 * 86_400_000)

    await t.ask('POST', '/api/dev/run', { body: { task: 'billing' } })
    expect(await planOf(owner), 'the period is not over').toBe('pro')
    const ahead = Date.parse(body.ends_at) - clock.millis()
    for (const service of [t, second]) (service.service.clock as MovableClock).advance(ahead)
    const again = await person(t, { orgId, role: 'owner' })
    await Promise.all([t, second].map((s) => s.ask('POST', '/api/dev/run', { body: { task: 'billing' } })))
    expect((await again.ask('GET', route)).body).toMatchObject({
      plan: 'free',
      status: 'active',
      next_invoice_at: null,
    })
    expect(await planEntries(orgId)).toEqual([
      entryOf(orgId, 'plan.upgraded', 'free', 'pro'),
      entryOf(orgId, 'plan.downgraded', 'pro', 'free'),
    ])
  })

  test('A-196 AD-126 canceling now ends the plan at once', async () => {
    const { orgId, owner } = await begin('free')
    await pay(owner, 'payg')
    const portal = (await owner.ask('POST', `${route}/portal`)).body.portal_url
    expect((await form(portal, 'end')).text).toContain('No subscription pays for this plan')
    expect(await planOf(owner)).toBe('free')
    expect((await planEntries(orgId)).at(-1)).toEqual(entryOf(orgId, 'plan.downgraded', 'payg', 'free'))
    expect((await form(portal, 'end')).status, 'again').toBe(200)
    expect(await planEntries(orgId)).toHaveLength(2)
  })
})

describe('POST /api/dev/billing', () => {
  test('R-52 R-44 A-195 A-196 plays the callback for every plan, and writes one entry for each change', async () => {
    const { orgId, owner } = await begin('enterprise')
    const steps: Plan[] = ['pro', 'pro', 'free', 'free', 'payg', 'enterprise', 'payg', 'pro', 'free', 'enterprise']
    const expected: unknown[] = []
    let present: Plan = 'enterprise'
    for (const plan of steps) {
      const reply = await devBilling({ org_id: orgId, plan })
      expect([reply.status, reply.body]).toEqual([200, { org_id: orgId, plan }])
      expect(await planOf(owner)).toBe(plan)
      const ranks = ['free', 'payg', 'pro', 'enterprise']
      const action = ranks.indexOf(plan) > ranks.indexOf(present) ? 'plan.upgraded' : 'plan.downgraded'
      if (plan !== present) expected.push(entryOf(orgId, action, present, plan))
      present = plan
    }
    expect(await planEntries(orgId)).toEqual(expected)
  })

  test('R-52 changes an org whose plan an operator set otherwise than its subscription', async () => {
    const { orgId, owner } = await begin('free')
    await pay(owner, 'pro')
    await t.database.sql("update orgs set plan = 'enterprise' where id = $1", [orgId])
    await devBilling({ org_id: orgId, plan: 'payg' })
    expect(await planOf(owner)).toBe('payg')
    await t.database.sql("update orgs set plan = 'free' where id = $1", [orgId])
    await devBilling({ org_id: orgId, plan: 'payg' })
    expect(await planOf(owner)).toBe('payg')
  })

  test('R-52 an unknown org is 404, and anything that is not a plan is 422', async () => {
    const { orgId } = await begin('free')
    for (const id of [newId('org'), 'nonsense']) {
      expect((await devBilling({ org_id: id, plan: 'pro' })).status).toBe(404)
    }
    for (const body of [{}, { org_id: orgId }, { org_id: orgId, plan: 'gold' }, { org_id: orgId, plan: 'pro', x: 1 }]) {
      expect((await devBilling(body)).status).toBe(422)
    }
  })
})

describe('the deletion of an org', () => {
  test('AD-126 ends its subscription', async () => {
    const { orgId, owner } = await begin('free')
    await pay(owner, 'pro')
    const slug = (await owner.ask('GET', '/api/internal/org')).body.slug
    await addMember(t, orgId, (await addPerson(t)).userId, 'viewer')
    expect((await owner.ask('DELETE', '/api/internal/org', { confirm: slug })).status).toBe(200)
    await t.ask('POST', '/api/dev/run', { body: { task: 'deletions' } })
    expect(
      await t.database.sql('select ended_at is not null as ended from billing_subscriptions where org_id = $1', [
        orgId,
      ]),
    ).toEqual([{ ended: true }])
  })
})

test('AD-126 the primary owner of a new org upgrades too', async () => {
  const { org } = await t.org({ plan: 'free' })
  const owner = await primaryOwner(t, org.id)
  expect((await pay(owner, 'payg')).status).toBe(200)
})
