import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { trailOf, withTrail } from '../../../../test/audit/trail.ts'
import { eventsOf } from '../../../../test/clients/domain-client.ts'
import { advance } from '../../../../test/clients/key-client.ts'
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

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

let org: CreatedOrg
let senders: SenderClient
beforeEach(async () => {
  org = await t.org()
  senders = senderClient(t, org)
})

const live = () => org.keys.live
const testKey = () => org.keys.test

describe('creating', () => {
  test('S-266 S-267 S-271 S-298 A complete brand is pending and lacks nothing', async () => {
    const { result, trail } = await withTrail(t.database, org.org.id, () => senders.create('brands', completeBrand))
    expect([result.status, result.body]).toEqual([
      201,
      {
        ...completeBrand,
        id: expect.stringMatching(/^brd_/),
        status: 'pending',
        status_reason: null,
        environment: 'live',
        provider_id: `registration-${result.body.id.slice(4)}`,
        provider_status: 'SUBMITTED',
        provider_missing_fields: [],
        stock_symbol: null,
        stock_exchange: null,
        verified_at: null,
        created_at: iso,
        updated_at: iso,
      },
    ])
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'brand.created',
        resource_type: 'brand',
        resource_id: result.body.id,
        metadata: {
          api_key_id: expect.any(String),
          display_name: 'Example',
          entity_type: 'private_profit',
          environment: 'live',
          via: 'api_key',
        },
      }),
    ])
    expect(await eventsOf(t.database, result.body.id)).toEqual([])
    expect((await senders.get('brands', result.body.id)).body).toEqual(result.body)
    expect((await senders.list('brands')).body).toEqual({ data: [result.body], has_more: false, next_cursor: null })
  })

  test.each([
    ['private_profit', ['ein']],
    ['non_profit', ['ein']],
    ['government', ['ein']],
    ['sole_proprietor', []],
    ['public_profit', ['ein', 'stock_symbol', 'stock_exchange']],
  ])('S-268 S-269 S-270 S-272 The registry requires other fields of a %s brand', async (entity_type, more) => {
    const reply = await senders.create('brands', { display_name: 'Ex', legal_company_name: 'Ex Inc.', entity_type })
    expect([reply.status, reply.body.status, reply.body.provider_missing_fields]).toEqual([
      201,
      'pending',
      [
        'email',
        'country',
        'website',
        'vertical',
        'street',
        'city',
        'state_region',
        'postal_code',
        'contact_first_name',
        'contact_last_name',
        'contact_phone',
        ...more,
      ],
    ])
  })

  test.each([
    ['display_name', undefined],
    ['legal_company_name', ''],
    ['entity_type', 'llc'],
    ['website', 'ftp://example.com'],
    ['website', 'example.com'],
    ['country', 'ZZ'],
    ['country', 'USA'],
    ['contact_phone', '5125550100'],
    ['email', 'nobody'],
    ['email', 'Ada <ada@example.com>'],
    ['ein', 'x'.repeat(51)],
  ])('SD-70 A brand whose %s is %j is refused', async (name, value) => {
    const reply = await leavesNoTrace(() => senders.create('brands', { ...completeBrand, [name]: value }))
    expect([reply.status, reply.body.error.code, reply.body.error.errors[0].path]).toEqual([
      422,
      'VALIDATION_ERROR',
      [name],
    ])
  })

  test('S-020 A repeated creation with the same Idempotency-Key registers one brand', async () => {
    const headers = { 'idempotency-key': 'once' }
    const first = await senders.create('brands', completeBrand, live(), headers)
    const again = await senders.create('brands', completeBrand, live(), headers)
    expect([again.status, again.body, again.headers['idempotent-replayed']]).toEqual([201, first.body, 'true'])
    expect((await senders.list('brands')).body.data).toHaveLength(1)
  })

  test('S-292 A test-mode brand is simulated and readable with both kinds of key', async () => {
    const { body } = await senders.create('brands', completeBrand, testKey())
    expect([body.environment, body.provider_id]).toEqual(['test', `test-reg-${body.id.slice(4)}`])
    expect((await senders.get('brands', body.id)).body).toEqual(body)
    const liveBrand = await senders.made('brands', completeBrand)
    expect((await senders.get('brands', liveBrand, testKey())).status).toBe(200)
  })

  test('X-180 A tenant key cannot register a brand', async () => {
    const key = await t.key(org.org.id, { tenantId: await t.tenant(org.org.id) })
    expectRefusal(await leavesNoTrace(() => senders.create('brands', completeBrand, key)), 'TENANT_KEY_FORBIDDEN')
  })

  test('SD-11 Reads and writes need their own scopes', async () => {
    const read = await t.key(org.org.id, { scopes: ['read:brands'] })
    const write = await t.key(org.org.id, { scopes: ['write:brands'] })
    const id = await senders.made('brands', completeBrand, write)
    expect((await senders.get('brands', id, read)).status).toBe(200)
    for (const reply of [
      await senders.create('brands', completeBrand, read),
      await senders.patch('brands', id, { city: 'Rome' }, read),
      await senders.remove('brands', id, read),
      await senders.get('brands', id, write),
      await senders.list('brands', '', write),
    ]) {
      expect([reply.status, reply.body.error.code]).toEqual([403, 'INSUFFICIENT_SCOPE'])
    }
  })
})

describe('the provisioning limit', () => {
  test('X-285 X-286 A-367 An org makes ten registrations or corrections per hour', async () => {
    const ids: string[] = []
    for (let i = 0; i < 9; i++) ids.push(await senders.made('brands', completeBrand))
    const id = ids[0] as string
    expect((await senders.patch('brands', id, { city: 'Rome' })).status).toBe(200)
    const refused = await leavesNoTrace(() => senders.create('brands', completeBrand))
    expectRefusal(refused, 'PROVISION_LIMIT_EXCEEDED')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_500)
    expectRefusal(await leavesNoTrace(() => senders.patch('brands', id, { city: 'Oslo' })), 'PROVISION_LIMIT_EXCEEDED')
    // Test mode has its own ten, and so has every other org.
    expect((await senders.create('brands', completeBrand, testKey())).status).toBe(201)
    expect((await senderClient(t, await t.org()).create('brands', completeBrand)).status).toBe(201)
    await advance(t, 3_600)
    expect((await senders.create('brands', completeBrand)).status).toBe(201)
  })

  test('X-285 Refused requests do not count', async () => {
    for (let i = 0; i < 11; i++) await senders.create('brands', { ...completeBrand, country: 'ZZ' })
    for (let i = 0; i < 11; i++) await senders.create('campaigns', campaignOf('brd_nothing'))
    expect((await senders.create('brands', completeBrand)).status).toBe(201)
  })
})

describe('correcting', () => {
  const incomplete = { ...completeBrand, ein: null, website: null }

  test('S-274 S-277 A-178 A correction of a rejected brand is submitted again', async () => {
    const id = await senders.made('brands', incomplete)
    await poll(t)
    const rejected = (await senders.get('brands', id)).body
    expect([rejected.status, rejected.status_reason, rejected.provider_status]).toEqual([
      'unverified',
      'Required fields are missing: website, ein.',
      'REQUIRES_UPDATES',
    ])
    const change = { ein: '12-3456789', website: 'https://example.com' }
    const { result, trail } = await withTrail(t.database, org.org.id, () => senders.patch('brands', id, change))
    expect([result.status, result.body]).toEqual([
      200,
      {
        ...rejected,
        ...change,
        status: 'pending',
        status_reason: null,
        provider_status: 'SUBMITTED',
        provider_missing_fields: [],
        updated_at: iso,
        resubmit: 'pushed',
      },
    ])
    expect(trail.map(({ action, metadata }) => [action, metadata?.fields])).toEqual([
      ['brand.updated', ['ein', 'website']],
    ])
    await poll(t)
    expect((await senders.get('brands', id)).body.status).toBe('verified')
  })

  test('S-272 S-277 An incomplete brand can be completed before the registry rejects it', async () => {
    const id = await senders.made('brands', incomplete)
    const reply = await senders.patch('brands', id, { ein: '12-3456789' })
    expect([reply.body.resubmit, reply.body.status, reply.body.provider_missing_fields]).toEqual([
      'pushed',
      'pending',
      ['website'],
    ])
  })

  test.each(['pending', 'verified'])(
    'S-278 SD-72 A correction of a %s brand is stored but not submitted',
    async (status) => {
      const id = await senders.made('brands', completeBrand)
      if (status === 'verified') await poll(t)
      const before = (await senders.get('brands', id)).body
      const reply = await senders.patch('brands', id, { city: 'Rome', stock_symbol: null })
      expect([reply.status, reply.body]).toEqual([
        200,
        { ...before, city: 'Rome', status, updated_at: iso, resubmit: 'not_submittable' },
      ])
    },
  )

  test.each([undefined, {}, { unknown: 1 }])(
    'S-275 X-258 A correction with the body %j has no fields',
    async (body) => {
      const id = await senders.made('brands', completeBrand)
      expectRefusal(await leavesNoTrace(() => senders.patch('brands', id, body)), 'NO_FIELDS')
    },
  )

  test('X-255 SD-09 A test key corrects and deletes only simulated brands', async () => {
    const liveBrand = await senders.made('brands', completeBrand)
    const testBrand = await senders.made('brands', completeBrand, testKey())
    const change = { city: 'Rome' }
    expectRefusal(
      await leavesNoTrace(() => senders.patch('brands', liveBrand, change, testKey())),
      'BRAND_IS_LIVE_MODE',
    )
    expectRefusal(await leavesNoTrace(() => senders.remove('brands', liveBrand, testKey())), 'ENVIRONMENT_ESCALATION')
    expect((await senders.patch('brands', testBrand, change, testKey())).body.city).toBe('Rome')
    expect((await senders.remove('brands', testBrand, testKey())).body).toEqual({ id: testBrand, deleted: true })
  })
})

describe('deleting', () => {
  test('X-111 A-179 SD-05 Deleting a brand fires brand.removed', async () => {
    const id = await senders.verifiedBrand()
    const { result, trail } = await withTrail(t.database, org.org.id, () => senders.remove('brands', id))
    expect([result.status, result.body]).toEqual([200, { id, deleted: true }])
    expect((await eventsOf(t.database, id)).at(-1)).toEqual({
      event: 'brand.removed',
      tenant_id: null,
      environment: null,
      data: { id, status: 'removed', display_name: 'Example', provider_status: 'COMPLETE', reason: null },
    })
    expect(trail.map(({ action }) => action)).toEqual(['brand.removed'])
    expectRefusal(await senders.get('brands', id), 'NOT_FOUND')
    expectRefusal(await senders.remove('brands', id), 'NOT_FOUND')
  })

  test('X-256 A brand with campaigns cannot be deleted', async () => {
    const brand = await senders.verifiedBrand()
    const campaign = await senders.made('campaigns', campaignOf(brand))
    expectRefusal(await leavesNoTrace(() => senders.remove('brands', brand)), 'BRAND_HAS_CAMPAIGNS')
    await senders.remove('campaigns', campaign)
    expect((await senders.remove('brands', brand)).status).toBe(200)
  })
})

describe('while the registry is unreachable', () => {
  beforeEach(() => setRegistry(t, '*', 'unreachable'))
  const reachable = () => setRegistry(t, '*', 'reachable')

  test('S-273 S-279 R-38 A brand is created without a registration and stores corrections', async () => {
    const { status, body } = await senders.create('brands', completeBrand)
    expect([status, body.status, body.provider_id, body.provider_status, body.provider_missing_fields]).toEqual([
      201,
      'pending',
      null,
      null,
      null,
    ])
    const reply = await senders.patch('brands', body.id, { city: 'Rome' })
    expect([reply.status, reply.body]).toEqual([
      200,
      { ...body, city: 'Rome', updated_at: iso, resubmit: 'no_registration' },
    ])
    await reachable()
  })

  test('R-38 A correction of a registered brand is stored and answered with 502', async () => {
    await reachable()
    const id = await senders.made('brands', completeBrand)
    await setRegistry(t, '*', 'unreachable')
    const reply = await senders.patch('brands', id, { city: 'Rome' })
    expectRefusal(reply, 'PROVIDER_UNAVAILABLE', { message: 'The registry is unreachable.' })
    const stored = (await senders.get('brands', id)).body
    expect([stored.city, stored.status, stored.provider_status]).toEqual(['Rome', 'pending', 'SUBMITTED'])
    await reachable()
  })

  test('R-38 A brand is not deleted, and can be deleted later', async () => {
    await reachable()
    const id = await senders.made('brands', completeBrand)
    await setRegistry(t, '*', 'unreachable')
    const refused = await leavesNoTrace(() => senders.remove('brands', id))
    expectRefusal(refused, 'PROVIDER_UNAVAILABLE', { message: 'The registry is unreachable.' })
    await reachable()
    expect((await senders.remove('brands', id)).status).toBe(200)
  })

  test('A-177 R-38 A brand that the registry never got can be deleted, and the log has both steps', async () => {
    const id = await senders.made('brands', completeBrand)
    expect((await senders.remove('brands', id)).status).toBe(200)
    expect((await trailOf(t.database, org.org.id)).map(({ action }) => action).slice(-2)).toEqual([
      'brand.created',
      'brand.removed',
    ])
    await reachable()
  })
})
