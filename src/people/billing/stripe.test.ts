/** Billing through Stripe, which a loopback server plays: its pages, and callbacks that are repeated, forged or late. */
import { afterAll, describe, expect, test } from 'vitest'
import { trailOf } from '../../../test/audit/trail.ts'
import { type Member, person } from '../../../test/clients/team-client.ts'
import { type StripeEventInput, signStripe, startStripe, stripeEnv, stripeEvent } from '../../../test/servers/stripe.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { Plan } from '../../customers/orgs/plans.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'

const stripe = await startStripe()
const t = await startTestService({ env: stripeEnv(stripe.url) })
afterAll(async () => {
  await t.stop()
  await stripe.stop()
})
const clock = t.service.clock as MovableClock
const route = '/api/internal/billing'
const seconds = () => Math.floor(clock.millis() / 1_000)
let counter = 0

const begin = async (plan: Plan = 'free') => {
  const { org } = await t.org({ plan })
  return { orgId: org.id, owner: await person(t, { orgId: org.id, role: 'owner' }) }
}
const post = (body: string, signature?: string) =>
  t.ask('POST', '/api/billing/callback', {
    raw: body,
    headers: signature === undefined ? {} : { 'stripe-signature': signature },
  })
const event = (input: Omit<StripeEventInput, 'id' | 'created'> & { id?: string; created?: number }) =>
  stripeEvent({ id: `evt_${++counter}`, created: seconds(), ...input })
const deliver = async (body: string) => {
  const reply = await post(body, signStripe(body, seconds()))
  return [reply.status, reply.body]
}
const changes = async (orgId: string) =>
  (await trailOf(t.database, orgId))
    .filter(({ action }) => String(action).startsWith('plan.'))
    .map(({ action, metadata }) => [action, metadata])
const planOf = async (owner: Member) => (await owner.ask('GET', route)).body.plan
/** Every order of the items. */
const orders = (items: number[]): number[][] =>
  items.length < 2
    ? [items]
    : items.flatMap((first) => orders(items.filter((item) => item !== first)).map((rest) => [first, ...rest]))
const upgraded = ['plan.upgraded', { from: 'free', to: 'pro', via: 'system' }]

describe('pages', () => {
  test('A-313 AD-126 checkout carries the org, the price and the address of the owner', async () => {
    const { orgId, owner } = await begin()
    stripe.calls.length = 0
    const reply = await owner.ask('POST', route, { plan: 'pro' })
    expect([reply.status, reply.body]).toEqual([200, { checkout_url: 'https://checkout.test/cs_1' }])
    expect(stripe.calls.at(-1)).toMatchObject({
      path: '/v1/checkout/sessions',
      form: {
        mode: 'subscription',
        client_reference_id: orgId,
        customer_email: owner.email,
        'line_items[0][price]': 'price_pro',
        'line_items[0][quantity]': '1',
        'subscription_data[metadata][org_id]': orgId,
      },
    })
    await owner.ask('POST', route, { plan: 'payg' })
    expect(stripe.calls.at(-1)?.form).not.toHaveProperty('line_items[0][quantity]')
    expect(await changes(orgId)).toEqual([])
  })

  test('AD-126 a paying org changes its subscription instead of beginning a second one', async () => {
    const { orgId, owner } = await begin()
    await deliver(event({ orgId, price: 'price_payg' }))
    const reply = await owner.ask('POST', route, { plan: 'pro' })
    expect([reply.status, reply.body]).toEqual([200, { checkout_url: 'https://portal.test/bps_1' }])
    expect(stripe.calls.at(-1)).toMatchObject({
      path: '/v1/billing_portal/sessions',
      form: {
        customer: `cus_${orgId}`,
        'flow_data[subscription_update_confirm][subscription]': `sub_${orgId}`,
        'flow_data[subscription_update_confirm][items][0][price]': 'price_pro',
      },
    })
  })

  test('AD-126 the portal opens for an org that never paid, which becomes a customer once', async () => {
    const { owner } = await begin()
    stripe.calls.length = 0
    for (let i = 0; i < 2; i++) {
      const reply = await owner.ask('POST', `${route}/portal`)
      expect([reply.status, reply.body]).toEqual([200, { portal_url: 'https://portal.test/bps_1' }])
    }
    expect(stripe.calls.filter(({ path }) => path === '/v1/customers')).toHaveLength(1)
  })

  test('AD-126 while Stripe is away both pages are 502, and nothing is stored', async () => {
    const { orgId, owner } = await begin()
    stripe.down = true
    try {
      for (const [path, body] of [[route, { plan: 'pro' }] as const, [`${route}/portal`, undefined] as const]) {
        const reply = await owner.ask('POST', path, body)
        expect([reply.status, reply.body]).toEqual([
          502,
          {
            error: 'The payment provider is unavailable. Nothing was changed. Try again in a few minutes.',
            code: 'PROVIDER_UNAVAILABLE',
          },
        ])
      }
    } finally {
      stripe.down = false
    }
    expect(await t.database.sql('select 1 from billing_customers where org_id = $1', [orgId])).toEqual([])
    expect(await planOf(owner)).toBe('free')
  })
})

describe('callbacks', () => {
  test('A-195 AD-126 a callback that arrives many times at once changes the plan once', async () => {
    const { orgId, owner } = await begin()
    const body = event({ orgId })
    const replies = await Promise.all(Array.from({ length: 10 }, () => deliver(body)))
    expect(replies.filter(([, { status }]) => status === 'applied')).toHaveLength(1)
    expect(replies.filter(([status, body]) => status === 200 && body.status === 'repeated')).toHaveLength(9)
    expect(await changes(orgId)).toEqual([upgraded])
    expect((await owner.ask('GET', route)).body).toMatchObject({
      plan: 'pro',
      payment_method: { brand: 'mastercard', last4: '4444' },
    })
  })

  test('AD-126 a forged, altered, unsigned, old or early callback is 403 and changes nothing', async () => {
    const { orgId } = await begin()
    const body = event({ orgId })
    const now = seconds()
    const attempts: [string, string | undefined][] = [
      [body, undefined],
      [body, ''],
      [body, 'nonsense'],
      [body, signStripe(body, now, 'whsec_of_somebody_else')],
      [body.replace('price_pro', 'price_payg'), signStripe(body, now)],
      [body, signStripe(body, now - 301)],
      // Well past the limit of 300, because the requests before this one take time.
      [body, signStripe(body, now + 360)],
      ['', signStripe('', now)],
      ['null', signStripe('null', now)],
      ['{}', signStripe('{}', now)],
    ]
    for (const [sent, signature] of attempts) {
      const reply = await post(sent, signature)
      expect([reply.status, reply.body], signature).toEqual([403, { error: 'The signature is not valid' }])
    }
    expect(await changes(orgId)).toEqual([])
    expect(await t.database.sql('select 1 from billing_events where org_id = $1', [orgId])).toEqual([])
  })

  test('AD-126 a body over 1 MB is 413', async () => {
    expect((await post('x'.repeat(1_048_577), 't=1,v1=00')).status).toBe(413)
  })

  test('A-196 AD-126 in whatever order the events arrive, the newest state decides', async () => {
    const now = seconds()
    for (const order of orders([0, 1, 2, 3])) {
      const { orgId, owner } = await begin()
      const events = [
        event({ orgId, type: 'created', status: 'incomplete', created: now - 60 }),
        event({ orgId, type: 'updated', status: 'active', created: now - 60 }),
        event({ orgId, type: 'updated', price: 'price_payg', created: now - 30 }),
        event({ orgId, type: 'deleted', status: 'canceled', price: 'price_payg', created: now - 30 }),
      ]
      for (const i of order) expect((await deliver(events[i] as string))[0]).toBe(200)
      expect(await planOf(owner), order.join()).toBe('free')
    }
  })

  test('AD-126 the end of a former subscription does not end the new one', async () => {
    const { orgId, owner } = await begin()
    const now = seconds()
    await deliver(event({ orgId, subscription: 'sub_a', price: 'price_payg', created: now - 60 }))
    await deliver(event({ orgId, subscription: 'sub_b', created: now - 40 }))
    await deliver(event({ orgId, subscription: 'sub_a', type: 'deleted', status: 'canceled', created: now - 20 }))
    expect(await planOf(owner)).toBe('pro')
  })

  test('A-196 AD-126 an unpaid subscription keeps the plan until its period ends', async () => {
    const { orgId, owner } = await begin()
    await deliver(event({ orgId, price: 'price_pro_former' }))
    await deliver(event({ orgId, status: 'unpaid' }))
    expect((await owner.ask('GET', route)).body).toMatchObject({ plan: 'pro', status: 'unpaid' })
    clock.advance(31 * 86_400_000)
    await t.ask('POST', '/api/dev/run', { body: { task: 'billing' } })
    expect(await changes(orgId)).toEqual([upgraded, ['plan.downgraded', { from: 'pro', to: 'free', via: 'system' }]])
  })

  test('AD-126 a renewal and the end of a subscription leave a plan that an operator set', async () => {
    const { orgId, owner } = await begin()
    await deliver(event({ orgId }))
    await t.database.sql("update orgs set plan = 'enterprise' where id = $1", [orgId])
    await deliver(event({ orgId }))
    await deliver(event({ orgId, type: 'deleted', status: 'canceled' }))
    await expect.poll(() => planOf(owner)).toBe('enterprise')
    expect(await changes(orgId)).toEqual([upgraded])
  })

  test('AD-126 an unknown price is 503 so that Stripe repeats the event, and other events are acknowledged', async () => {
    const { orgId } = await begin()
    expect((await deliver(event({ orgId, price: 'price_other' })))[0]).toBe(503)
    const foreign = event({ orgId, price: 'price_other', more: { metadata: {} } })
    expect(await deliver(foreign)).toEqual([200, { status: 'ignored' }])
    expect(await deliver(event({ orgId: 'org_nobody' }))).toEqual([200, { status: 'ignored' }])
    expect(await changes(orgId)).toEqual([])
  })

  test('R-52 the callback of Stripe cannot be played', async () => {
    const { orgId } = await begin()
    expect((await t.ask('POST', '/api/dev/billing', { body: { org_id: orgId, plan: 'pro' } })).status).toBe(404)
  })
})
