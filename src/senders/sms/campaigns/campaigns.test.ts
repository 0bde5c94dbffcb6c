import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { eventsOf } from '../../../../test/clients/domain-client.ts'
import {
  campaignOf,
  completeBrand,
  poll,
  type SenderClient,
  senderClient,
  setRegistry,
} from '../../../../test/clients/sender-client.ts'
import { iso } from '../../../../test/expect/instants.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import type { CreatedOrg } from '../../../app/operator/create-org.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

let org: CreatedOrg
let senders: SenderClient
let brand: string
beforeEach(async () => {
  org = await t.org()
  senders = senderClient(t, org)
  brand = await senders.verifiedBrand()
})

describe('creating', () => {
  test('S-280 S-281 S-284 S-285 A campaign of a verified brand is registered', async () => {
    const body = campaignOf(brand, {
      opt_in_keywords: ['START'],
      opt_in_message: 'You will get order updates.',
      help_message: 'Write to help@example.com.',
      privacy_policy_url: 'https://example.com/privacy',
      terms_url: 'https://example.com/terms',
      embedded_link: true,
    })
    const { result, trail } = await withTrail(t.database, org.org.id, () => senders.create('campaigns', body))
    expect([result.status, result.body]).toEqual([
      201,
      {
        ...body,
        id: expect.stringMatching(/^cmp_/),
        status: 'pending',
        status_reason: null,
        environment: 'live',
        provider_id: `registration-${result.body.id.slice(4)}`,
        provider_status: 'SUBMITTED',
        provider_missing_fields: [],
        help_keyword: 'HELP',
        stop_keyword: 'STOP',
        embedded_phone: false,
        age_gated: false,
        direct_lending: false,
        opt_in_evidence_url: null,
        verified_at: null,
        created_at: iso,
        updated_at: iso,
      },
    ])
    expect(trail.map(({ action, resource_type, resource_id }) => [action, resource_type, resource_id])).toEqual([
      ['campaign.created', 'campaign', result.body.id],
    ])
    expect((await senders.get('campaigns', result.body.id)).body).toEqual(result.body)
    expect((await senders.list('campaigns')).body).toEqual({ data: [result.body], has_more: false, next_cursor: null })
  })

  test('S-282 S-286 S-287 A toll-free campaign without evidence of consent lacks it', async () => {
    const pending = await senders.made('brands', completeBrand)
    const reply = await senders.create('campaigns', campaignOf(pending, { kind: 'toll_free' }))
    expect([reply.status, reply.body.kind, reply.body.provider_missing_fields]).toEqual([
      201,
      'tollfree',
      ['opt_in_evidence_url'],
    ])
    const opt_in_evidence_url = 'https://example.com/consent.png'
    const complete = await senders.create('campaigns', campaignOf(pending, { kind: 'tollfree', opt_in_evidence_url }))
    expect([complete.body.kind, complete.body.provider_missing_fields, complete.body.opt_in_evidence_url]).toEqual([
      'tollfree',
      [],
      opt_in_evidence_url,
    ])
  })

  test.each([
    ['message_flow', 'x'.repeat(39)],
    ['message_flow', 'x'.repeat(4_097)],
    ['sample_messages', []],
    ['sample_messages', Array(6).fill('hello')],
    ['sample_messages', 'hello'],
    ['kind', 'shortcode'],
    ['use_case', ''],
    ['use_case', 'x'.repeat(65)],
    ['name', undefined],
    ['embedded_link', 'yes'],
    ['opt_in_evidence_url', 'http://example.com/consent.png'],
  ])('S-283 X-356 SD-74 A campaign whose %s is %j is refused', async (name, value) => {
    const reply = await leavesNoTrace(() => senders.create('campaigns', campaignOf(brand, { [name]: value })))
    expect([reply.status, reply.body.error.code, reply.body.error.errors[0].path]).toEqual([
      422,
      'VALIDATION_ERROR',
      [name],
    ])
  })

  test('X-356 A message flow of 40 characters is enough', async () => {
    expect((await senders.create('campaigns', campaignOf(brand, { message_flow: 'x'.repeat(40) }))).status).toBe(201)
  })

  test('X-249 A brand that is unknown or of another org is not found', async () => {
    const foreign = await senderClient(t, await t.org()).verifiedBrand()
    for (const id of [foreign, newId('brand'), newId('campaign'), 'x']) {
      expectRefusal(await leavesNoTrace(() => senders.create('campaigns', campaignOf(id))), 'BRAND_NOT_FOUND')
    }
  })

  test('X-251 A 10DLC campaign needs a verified brand', async () => {
    const pending = await senders.made('brands', completeBrand)
    expectRefusal(await leavesNoTrace(() => senders.create('campaigns', campaignOf(pending))), 'BRAND_NOT_VERIFIED')
  })

  test('X-052 X-253 A test-mode brand cannot back a live campaign', async () => {
    const simulated = await senders.verifiedBrand(org.keys.test)
    const refused = await leavesNoTrace(() => senders.create('campaigns', campaignOf(simulated)))
    expectRefusal(refused, 'BRAND_IS_TEST_MODE')
    const reply = await senders.create('campaigns', campaignOf(simulated), org.keys.test)
    expect([reply.status, reply.body.environment, reply.body.provider_id]).toEqual([
      201,
      'test',
      `test-reg-${reply.body.id.slice(4)}`,
    ])
  })

  test('S-020 A-182 A repeated creation with the same Idempotency-Key registers and records one campaign', async () => {
    const headers = { 'idempotency-key': 'once' }
    const create = () => senders.create('campaigns', campaignOf(brand), org.keys.live, headers)
    const { result: first, trail } = await withTrail(t.database, org.org.id, async () => {
      const created = await create()
      expect(await create()).toMatchObject({ status: 201, body: created.body })
      return created
    })
    expect(trail.map(({ action, resource_id }) => [action, resource_id])).toEqual([['campaign.created', first.body.id]])
    expect((await senders.list('campaigns')).body.data).toHaveLength(1)
  })

  test('X-285 Campaigns count as registrations', async () => {
    for (let i = 0; i < 9; i++) await senders.made('campaigns', campaignOf(brand))
    const refused = await leavesNoTrace(() => senders.create('campaigns', campaignOf(brand)))
    expectRefusal(refused, 'PROVISION_LIMIT_EXCEEDED')
  })
})

test('S-280 SD-76 A campaign cannot be changed', async () => {
  const id = await senders.made('campaigns', campaignOf(brand))
  const reply = await leavesNoTrace(() => senders.patch('campaigns', id, { name: 'Other' }))
  expectRefusal(reply, 'METHOD_NOT_ALLOWED')
})

describe('deleting', () => {
  test('X-112 A-184 R-39 Deleting a campaign unverifies its numbers', async () => {
    const campaign = await senders.made('campaigns', campaignOf(brand))
    await poll(t)
    const number = await senders.made('phone-numbers', { iso_country: 'US', type: 'longcode', campaign_id: campaign })
    await poll(t)
    const { e164 } = (await senders.get('phone-numbers', number)).body
    const { result, trail } = await withTrail(t.database, org.org.id, () => senders.remove('campaigns', campaign))
    expect([result.status, result.body]).toEqual([200, { id: campaign, deleted: true }])
    expect((await eventsOf(t.database, campaign)).at(-1)).toEqual({
      event: 'campaign.removed',
      tenant_id: null,
      environment: null,
      data: {
        id: campaign,
        status: 'removed',
        brand_id: brand,
        name: 'Order updates',
        kind: '10dlc',
        use_case: 'delivery_notification',
        provider_status: 'COMPLETE',
        reason: null,
      },
    })
    expect((await eventsOf(t.database, number)).at(-1)).toEqual({
      event: 'phone_number.unverified',
      tenant_id: null,
      environment: null,
      data: {
        id: number,
        status: 'unverified',
        kind: 'number',
        e164,
        sender_id: null,
        iso_country: 'US',
        campaign_id: campaign,
        provider_status: 'ACTIVE',
        reason: 'The campaign was deleted.',
      },
    })
    expect(trail.map(({ action }) => action)).toEqual(['campaign.removed', 'phone_number.unverified'])
    // The registry still approves the number, but it has no campaign.
    await poll(t)
    expect((await senders.get('phone-numbers', number)).body).toMatchObject({
      status: 'unverified',
      status_reason: 'The campaign was deleted.',
      verified_at: null,
    })
    expectRefusal(await senders.get('campaigns', campaign), 'NOT_FOUND')
  })

  test('SD-09 A test key deletes only simulated campaigns', async () => {
    const campaign = await senders.made('campaigns', campaignOf(brand))
    const refused = await leavesNoTrace(() => senders.remove('campaigns', campaign, org.keys.test))
    expectRefusal(refused, 'ENVIRONMENT_ESCALATION')
  })

  test('XD-09 A tenant cannot delete a campaign, which belongs to the org', async () => {
    const campaign = await senders.made('campaigns', campaignOf(brand))
    const key = await t.key(org.org.id, { tenantId: await t.tenant(org.org.id) })
    expectRefusal(await leavesNoTrace(() => senders.remove('campaigns', campaign, key)), 'TENANT_FORBIDDEN')
    expectRefusal(await leavesNoTrace(() => senders.remove('brands', brand, key)), 'TENANT_FORBIDDEN')
    expect((await senders.get('campaigns', campaign, key)).status).toBe(200)
  })
})

describe('while the registry is unreachable', () => {
  test('R-38 S-301 A campaign is created without a registration', async () => {
    await setRegistry(t, '*', 'unreachable')
    const { status, body } = await senders.create('campaigns', campaignOf(brand))
    await setRegistry(t, '*', 'reachable')
    expect([status, body.status, body.provider_id, body.provider_status, body.provider_missing_fields]).toEqual([
      201,
      'pending',
      null,
      null,
      null,
    ])
  })

  test('R-38 A campaign is not deleted', async () => {
    const campaign = await senders.made('campaigns', campaignOf(brand))
    await setRegistry(t, campaign, 'unreachable')
    const refused = await leavesNoTrace(() => senders.remove('campaigns', campaign))
    expectRefusal(refused, 'PROVIDER_UNAVAILABLE', { message: 'The registry is unreachable.' })
    await setRegistry(t, campaign, 'reachable')
    expect((await senders.remove('campaigns', campaign)).status).toBe(200)
  })
})
