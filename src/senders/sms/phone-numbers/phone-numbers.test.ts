import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { eventsOf } from '../../../../test/clients/domain-client.ts'
import { advance } from '../../../../test/clients/key-client.ts'
import {
  campaignOf,
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
import { simulatedNumber } from '../../../providers/registry/local-registry.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

let org: CreatedOrg
let senders: SenderClient
beforeEach(async () => {
  org = await t.org()
  senders = senderClient(t, org)
})

const noun = 'phone-numbers'
const longcode = (campaign_id: string) => ({ iso_country: 'US', type: 'longcode', campaign_id })
const alphanumeric = (sender_id: string, iso_country = 'GB') => ({ kind: 'alphanumeric', sender_id, iso_country })
const send = (from: string, key: string) =>
  t.ask('POST', '/api/v1/sms', { key, body: { from, to: '+15125550123', body: 'Hello' } })

describe('numbers', () => {
  test('S-288 S-289 S-291 S-297 A number of a verified campaign is provisioned and then verified', async () => {
    const campaign = await senders.verifiedCampaign()
    const { result, trail } = await withTrail(t.database, org.org.id, () => senders.create(noun, longcode(campaign)))
    expect([result.status, result.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^num_/),
        kind: 'number',
        type: 'longcode',
        iso_country: 'US',
        e164: expect.stringMatching(/^\+1\d{3}55501\d\d$/),
        sender_id: null,
        campaign_id: campaign,
        status: 'pending',
        status_reason: null,
        provider_id: `phone-${result.body.id.slice(4)}`,
        provider_status: 'PENDING',
        capabilities: ['sms', 'mms'],
        environment: 'live',
        tenant_id: null,
        verified_at: null,
        created_at: iso,
        updated_at: iso,
      },
    ])
    const { id, e164 } = result.body
    expect(trail.map(({ action, resource_type, resource_id }) => [action, resource_type, resource_id])).toEqual([
      ['phone_number.provisioned', 'phone_number', id],
    ])
    expect((await send(e164, org.keys.live)).body.error.code).toBe('SENDER_NOT_VERIFIED')
    await poll(t)
    const verified = (await senders.get(noun, id)).body
    expect(verified).toEqual({
      ...result.body,
      status: 'verified',
      provider_status: 'ACTIVE',
      verified_at: iso,
      updated_at: iso,
    })
    expect((await senders.list(noun, '?limit=1')).body.data).toEqual([verified])
    expect((await send(e164, org.keys.live)).status).toBe(200)
  })

  test('S-297 SD-77 Canada has toll-free numbers and no long codes', async () => {
    const opt_in_evidence_url = 'https://example.com/consent.pdf'
    const campaign = await senders.verifiedCampaign({ kind: 'tollfree', opt_in_evidence_url })
    const body = { iso_country: 'ca', type: 'tollfree', campaign_id: campaign }
    const made = await senders.create(noun, body)
    expect([made.status, made.body.iso_country, made.body.e164]).toEqual([
      201,
      'CA',
      expect.stringMatching(/^\+18\d\d55501\d\d$/),
    ])
    const refused = await leavesNoTrace(() => senders.create(noun, { ...body, type: 'longcode' }))
    expect([refused.status, refused.body.error.code, refused.body.error.errors[0].path]).toEqual([
      422,
      'VALIDATION_ERROR',
      ['type'],
    ])
  })

  test('S-295 X-247 Numbers outside the US and Canada cannot be provisioned', async () => {
    const campaign = await senders.verifiedCampaign()
    const refused = await leavesNoTrace(() => senders.create(noun, { ...longcode(campaign), iso_country: 'GB' }))
    expectRefusal(refused, 'COUNTRY_NOT_PROVISIONABLE')
  })

  test('X-250 X-252 X-254 SD-77 A number needs a verified live campaign of its kind', async () => {
    const brand = await senders.verifiedBrand()
    const pending = await senders.made('campaigns', campaignOf(brand))
    await setRegistry(t, pending, 'submitted')
    const simulated = await senders.verifiedCampaign({}, org.keys.test)
    const foreign = await senderClient(t, await t.org()).verifiedCampaign()
    for (const [id, code] of [
      [pending, 'CAMPAIGN_NOT_VERIFIED'],
      [simulated, 'CAMPAIGN_IS_TEST_MODE'],
      [foreign, 'CAMPAIGN_NOT_FOUND'],
      [newId('campaign'), 'CAMPAIGN_NOT_FOUND'],
      ['x', 'CAMPAIGN_NOT_FOUND'],
    ] as const) {
      expectRefusal(await leavesNoTrace(() => senders.create(noun, longcode(id))), code, {}, id)
    }
    await setRegistry(t, pending, 'approved')
    await poll(t)
    const refused = await leavesNoTrace(() => senders.create(noun, { ...longcode(pending), type: 'tollfree' }))
    expect([refused.status, refused.body.error.code, refused.body.error.errors[0].path]).toEqual([
      422,
      'VALIDATION_ERROR',
      ['campaign_id'],
    ])
  })

  test.each(['type', 'campaign_id', 'iso_country'])('S-289 A number without %s is refused', async (name) => {
    const body = { ...longcode(newId('campaign')), [name]: undefined }
    const refused = await leavesNoTrace(() => senders.create(noun, body))
    expect([refused.body.error.code, refused.body.error.errors[0].path]).toEqual(['VALIDATION_ERROR', [name]])
  })

  test('S-292 SD-81 A test-mode number is simulated and cannot send live messages', async () => {
    const campaign = await senders.verifiedCampaign({}, org.keys.test)
    const { body } = await senders.create(noun, longcode(campaign), org.keys.test)
    expect([body.environment, body.status, body.provider_id]).toEqual([
      'test',
      'pending',
      `test-reg-${body.id.slice(4)}`,
    ])
    await poll(t)
    expect((await senders.get(noun, body.id)).body.status).toBe('verified')
    expectRefusal(await send(body.e164, org.keys.live), 'SENDER_NOT_REGISTERED')
    expect((await send(body.e164, org.keys.test)).status).toBe(200)
  })

  test('X-257 A simulated number that the org has already is refused, and nothing is left', async () => {
    const campaign = await senders.verifiedCampaign({}, org.keys.test)
    await t.database.sql(
      `insert into phone_numbers (org_id, id, environment, kind, e164, iso_country, status, created_at, updated_at)
       select $1, 'num_' || area || line, 'test', 'number', '+1' || area || '55501' || line, 'US', 'verified', $2, $2
       from unnest('{206,212,303,312,415,512,617,702}'::text[]) area,
         (select lpad(n::text, 2, '0') as line from generate_series(0, 99) n) lines`,
      [org.org.id, t.service.clock.now()],
    )
    const refused = await leavesNoTrace(() => senders.create(noun, longcode(campaign), org.keys.test))
    expectRefusal(refused, 'NUMBER_ALREADY_REGISTERED')
    expect(simulatedNumber('longcode')).toMatch(/^\+1(206|212|303|312|415|512|617|702)55501\d\d$/)
  })

  test('S-020 A repeated creation with the same Idempotency-Key provisions one number', async () => {
    const campaign = await senders.verifiedCampaign()
    const headers = { 'idempotency-key': 'once' }
    const first = await senders.create(noun, longcode(campaign), org.keys.live, headers)
    const again = await senders.create(noun, longcode(campaign), org.keys.live, headers)
    expect([again.status, again.body]).toEqual([201, first.body])
  })
})

describe('alphanumeric senders', () => {
  test('S-290 S-293 S-300 A-187 A sender id is verified at once, without a provider', async () => {
    await setRegistry(t, '*', 'unreachable')
    const { result, trail } = await withTrail(t.database, org.org.id, () =>
      senders.create(noun, alphanumeric('My Shop-1', 'gb')),
    )
    await setRegistry(t, '*', 'reachable')
    expect([result.status, result.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^num_/),
        kind: 'alphanumeric',
        type: null,
        iso_country: 'GB',
        e164: null,
        sender_id: 'My Shop-1',
        campaign_id: null,
        status: 'verified',
        status_reason: null,
        provider_id: null,
        provider_status: null,
        capabilities: ['sms'],
        environment: 'live',
        tenant_id: null,
        verified_at: iso,
        created_at: iso,
        updated_at: iso,
      },
    ])
    expect(trail.map(({ action }) => action)).toEqual(['phone_number.provisioned'])
    expect((await send('My Shop-1', org.keys.live)).status).toBe(200)
    expect(await eventsOf(t.database, result.body.id)).toEqual([])
  })

  test.each(['US', 'CA', 'IN'])('S-294 %s has no sender ids', async (country) => {
    const refused = await leavesNoTrace(() => senders.create(noun, alphanumeric('Shop', country)))
    expect([refused.status, refused.body.error.code, refused.body.error.errors[0].path]).toEqual([
      422,
      'VALIDATION_ERROR',
      ['iso_country'],
    ])
  })

  test('S-294 Australia and the EU have them', async () => {
    for (const country of ['AU', 'DE', 'FR', 'IE', 'SE']) {
      expect((await senders.create(noun, alphanumeric(`Shop ${country}`, country))).status, country).toBe(201)
    }
  })

  test.each([undefined, '', 'x'.repeat(12), '123', 'Shop!', 'Läden', '+15125550100'])(
    'X-357 SD-56 The sender id %j is refused',
    async (sender_id) => {
      const refused = await leavesNoTrace(() => senders.create(noun, alphanumeric(sender_id as string)))
      expect([refused.status, refused.body.error.code, refused.body.error.errors[0].path]).toEqual([
        422,
        'VALIDATION_ERROR',
        ['sender_id'],
      ])
    },
  )

  test('X-357 Sender ids have 1 to 11 characters', async () => {
    for (const id of ['A', 'x'.repeat(11)]) expect((await senders.create(noun, alphanumeric(id))).status).toBe(201)
  })

  test('S-296 X-248 SD-56 A sender id is registered once per environment, in any case', async () => {
    await senders.made(noun, alphanumeric('Shop'))
    const refused = await leavesNoTrace(() => senders.create(noun, alphanumeric('SHOP', 'DE')))
    expectRefusal(refused, 'SENDER_ALREADY_REGISTERED')
    const simulated = await senders.create(noun, alphanumeric('Shop'), org.keys.test)
    expect([simulated.status, simulated.body.provider_id]).toEqual([201, `test-reg-${simulated.body.id.slice(4)}`])
    const other = senderClient(t, await t.org())
    expect((await other.create(noun, alphanumeric('Shop'))).status).toBe(201)
  })

  test('S-296 Only one of several concurrent registrations of a sender id succeeds', async () => {
    const replies = await Promise.all(Array.from({ length: 6 }, () => senders.create(noun, alphanumeric('Race'))))
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
  })

  test('X-285 R-39 Sender ids count as registrations', async () => {
    for (let i = 0; i < 10; i++) await senders.made(noun, alphanumeric(`Shop ${i}`))
    expectRefusal(await leavesNoTrace(() => senders.create(noun, alphanumeric('Shop 10'))), 'PROVISION_LIMIT_EXCEEDED')
  })

  test('R-35 A sender id that the registry rejects becomes unverified until it is approved', async () => {
    const id = await senders.made(noun, alphanumeric('Shop'))
    await setRegistry(t, id, 'rejected', { reason: 'Somebody else uses this name.' })
    await poll(t)
    expect((await senders.get(noun, id)).body).toMatchObject({
      status: 'unverified',
      status_reason: 'Somebody else uses this name.',
      provider_status: null,
    })
    expectRefusal(await send('Shop', org.keys.live), 'SENDER_NOT_VERIFIED')
    await setRegistry(t, id, 'approved')
    await poll(t)
    expect((await eventsOf(t.database, id)).map(({ event }) => event)).toEqual([
      'phone_number.unverified',
      'phone_number.verified',
    ])
  })
})

describe('the plan', () => {
  test('XD-25 The free plan allows two numbers and sender ids, test rows included', async () => {
    const free = await t.org({ plan: 'free' })
    const client = senderClient(t, free)
    const had = (await client.list(noun)).body.data.length
    for (let i = had; i < 2; i++) await client.made(noun, alphanumeric(`Shop ${i}`), free.keys.test)
    const message = 'The free plan allows 2 phone numbers and sender ids.'
    const refused = await leavesNoTrace(() => client.create(noun, alphanumeric('Third')))
    expectRefusal(refused, 'PLAN_RESOURCE_LIMIT', { message })
  })

  test('XD-25 Concurrent registrations do not pass the limit together', async () => {
    const free = await t.org({ plan: 'free' })
    const client = senderClient(t, free)
    const had = (await client.list(noun)).body.data.length
    const replies = await Promise.all(Array.from({ length: 6 }, (_, i) => client.create(noun, alphanumeric(`C ${i}`))))
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(2 - had)
    expect(replies.filter(({ status }) => status === 402)).toHaveLength(4 + had)
  })
})

describe('rebinding', () => {
  test('SD-78 R-39 A number moves to another campaign without spending the allowance', async () => {
    const first = await senders.verifiedCampaign()
    const second = await senders.verifiedCampaign()
    const id = await senders.made(noun, longcode(first))
    await poll(t)
    for (let i = 0; i < 12; i++) expect((await senders.patch(noun, id, { campaign_id: first })).status).toBe(200)
    await poll(t)
    const before = (await senders.get(noun, id)).body
    const reply = await senders.patch(noun, id, { campaign_id: second })
    expect([reply.status, reply.body]).toEqual([
      200,
      { ...before, campaign_id: second, status: 'pending', verified_at: null, updated_at: iso },
    ])
    await poll(t)
    expect((await senders.get(noun, id)).body.status).toBe('verified')
  })

  test.each([undefined, {}, { type: 'tollfree' }])('SD-78 A change with the body %j has no fields', async (body) => {
    const id = await senders.made(noun, alphanumeric('Shop'))
    expectRefusal(await leavesNoTrace(() => senders.patch(noun, id, body)), 'NO_FIELDS')
  })

  test('SD-78 X-250 X-254 SD-09 A number is bound only to a campaign that it may use', async () => {
    const campaign = await senders.verifiedCampaign()
    const id = await senders.made(noun, longcode(campaign))
    const simulated = await senders.verifiedCampaign({}, org.keys.test)
    const change = (to: string, key?: string) => leavesNoTrace(() => senders.patch(noun, id, { campaign_id: to }, key))
    expectRefusal(await change(simulated), 'CAMPAIGN_IS_TEST_MODE')
    expectRefusal(await change(newId('campaign')), 'CAMPAIGN_NOT_FOUND')
    expectRefusal(await change(campaign, org.keys.test), 'ENVIRONMENT_ESCALATION')
    const sender = await senders.made(noun, alphanumeric('Shop'))
    const refused = await leavesNoTrace(() => senders.patch(noun, sender, { campaign_id: campaign }))
    expect([refused.status, refused.body.error.code, refused.body.error.errors[0].path]).toEqual([
      422,
      'VALIDATION_ERROR',
      ['campaign_id'],
    ])
  })
})

describe('releasing', () => {
  test('X-113 A-188 SD-78 A released number is gone and fires phone_number.released', async () => {
    const campaign = await senders.verifiedCampaign()
    const id = await senders.made(noun, longcode(campaign))
    await poll(t)
    const { e164 } = (await senders.get(noun, id)).body
    expect((await send(e164, org.keys.live)).status).toBe(200)
    const { result, trail } = await withTrail(t.database, org.org.id, () => senders.remove(noun, id))
    expect([result.status, result.body]).toEqual([200, { id, deleted: true }])
    expect((await eventsOf(t.database, id)).at(-1)).toEqual({
      event: 'phone_number.released',
      tenant_id: null,
      environment: null,
      data: {
        id,
        status: 'released',
        kind: 'number',
        e164,
        sender_id: null,
        iso_country: 'US',
        campaign_id: campaign,
        provider_status: 'ACTIVE',
        reason: null,
      },
    })
    expect(trail.map(({ action }) => action)).toEqual(['phone_number.released'])
    expectRefusal(await senders.get(noun, id), 'NOT_FOUND')
    expectRefusal(await send(e164, org.keys.live), 'SENDER_NOT_REGISTERED')
  })

  test('SD-78 A scheduled message of a released number fails when it is due', async () => {
    const campaign = await senders.verifiedCampaign()
    const id = await senders.made(noun, longcode(campaign))
    await poll(t)
    const { e164 } = (await senders.get(noun, id)).body
    const scheduled_at = new Date(t.service.clock.millis() + 3_600_000).toISOString()
    const body = { from: e164, to: '+15125550123', body: 'Hello', scheduled_at }
    const message = await t.ask('POST', '/api/v1/sms', { key: org.keys.live, body })
    expect(message.body.status).toBe('scheduled')
    await senders.remove(noun, id)
    await advance(t, 3_700)
    await t.ask('POST', '/api/dev/run', { body: { task: 'scheduler' } })
    const after = await t.ask('GET', `/api/v1/sms/${message.body.id}`, { key: org.keys.live })
    expect(after.body.status).toBe('failed')
  })

  test('SD-09 A test key releases only simulated numbers', async () => {
    const id = await senders.made(noun, alphanumeric('Shop'))
    expectRefusal(await leavesNoTrace(() => senders.remove(noun, id, org.keys.test)), 'ENVIRONMENT_ESCALATION')
    const simulated = await senders.made(noun, alphanumeric('Shop'), org.keys.test)
    expect((await senders.remove(noun, simulated, org.keys.test)).status).toBe(200)
  })
})

describe('while the registry is unreachable', () => {
  test('R-38 A number is created without being provisioned', async () => {
    const campaign = await senders.verifiedCampaign()
    await setRegistry(t, '*', 'unreachable')
    const { result, trail } = await withTrail(t.database, org.org.id, () => senders.create(noun, longcode(campaign)))
    await setRegistry(t, '*', 'reachable')
    const { status, body } = result
    expect([status, body.status, body.e164, body.provider_id, body.provider_status]).toEqual([
      201,
      'pending',
      null,
      null,
      null,
    ])
    expect(trail).toEqual([])
  })

  test('R-38 A number is neither rebound nor released', async () => {
    const campaign = await senders.verifiedCampaign()
    const id = await senders.made(noun, longcode(campaign))
    await setRegistry(t, id, 'unreachable')
    const more = { message: 'The registry is unreachable.' }
    const rebound = await leavesNoTrace(() => senders.patch(noun, id, { campaign_id: campaign }))
    expectRefusal(rebound, 'PROVIDER_UNAVAILABLE', more)
    expectRefusal(await leavesNoTrace(() => senders.remove(noun, id)), 'PROVIDER_UNAVAILABLE', more)
    await setRegistry(t, id, 'reachable')
    expect((await senders.remove(noun, id)).status).toBe(200)
  })
})

test('XD-09 A tenant sees its own numbers and those of the org', async () => {
  const tenantId = await t.tenant(org.org.id)
  const other = await t.tenant(org.org.id)
  const ids: Record<string, string> = {}
  for (const [name, tenant] of Object.entries({ own: tenantId, theirs: other, shared: null })) {
    ids[name] = await senders.made(noun, alphanumeric(`Shop ${name}`))
    await t.database.sql('update phone_numbers set tenant_id = $2 where id = $1', [ids[name], tenant])
  }
  const key = await t.key(org.org.id, { tenantId })
  const listed = (await senders.list(noun, '', key)).body.data.map(({ id }: { id: string }) => id)
  expect(listed.slice(0, 2)).toEqual([ids.shared, ids.own])
  expect(listed).not.toContain(ids.theirs)
  expectRefusal(await senders.get(noun, ids.theirs as string, key), 'NOT_FOUND')
  for (const id of [ids.theirs, ids.shared]) {
    expectRefusal(await leavesNoTrace(() => senders.remove(noun, id as string, key)), 'TENANT_FORBIDDEN')
  }
  expect((await senders.remove(noun, ids.own as string, key)).status).toBe(200)
})
