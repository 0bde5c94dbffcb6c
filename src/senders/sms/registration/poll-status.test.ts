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
beforeEach(async () => {
  org = await t.org()
  senders = senderClient(t, org)
})

const brandOf = async (id: string) => (await senders.get('brands', id)).body
const eventNames = async (id: string) => (await eventsOf(t.database, id)).map(({ event }) => event)

/** A brand, its campaign and a number, all verified. */
const chain = async () => {
  const brand = await senders.verifiedBrand()
  const campaign = await senders.made('campaigns', campaignOf(brand))
  await poll(t)
  const number = await senders.made('phone-numbers', { iso_country: 'US', type: 'longcode', campaign_id: campaign })
  await poll(t)
  return { brand, campaign, number }
}

describe('approval', () => {
  test('S-299 X-111 A-180 A complete brand is verified by the next poll, once', async () => {
    const { body } = await senders.create('brands', completeBrand)
    const { result, trail } = await withTrail(t.database, org.org.id, () => poll(t))
    expect(result).toMatchObject({ verified: 1, unverified: 0, unreadable: 0 })
    expect(await brandOf(body.id)).toEqual({
      ...body,
      status: 'verified',
      provider_status: 'COMPLETE',
      verified_at: iso,
      updated_at: iso,
    })
    expect(await eventsOf(t.database, body.id)).toEqual([
      {
        event: 'brand.verified',
        tenant_id: null,
        environment: null,
        data: {
          id: body.id,
          status: 'verified',
          display_name: 'Example',
          provider_status: 'COMPLETE',
          reason: null,
        },
      },
    ])
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'brand.verified',
        resource_type: 'brand',
        resource_id: body.id,
        actor_user_id: null,
        metadata: { display_name: 'Example', provider_status: 'COMPLETE', reason: null, via: 'system' },
      }),
    ])
    await leavesNoTrace(() => poll(t))
  })

  test('X-112 X-113 A-185 A-189 Campaigns and numbers are verified with their own events', async () => {
    const { campaign, number } = await chain()
    const { e164 } = (await senders.get('phone-numbers', number)).body
    expect(await eventsOf(t.database, campaign)).toEqual([
      expect.objectContaining({
        event: 'campaign.verified',
        data: expect.objectContaining({ status: 'verified', kind: '10dlc', provider_status: 'COMPLETE', reason: null }),
      }),
    ])
    expect(await eventsOf(t.database, number)).toEqual([
      expect.objectContaining({
        event: 'phone_number.verified',
        data: expect.objectContaining({ status: 'verified', e164, campaign_id: campaign, provider_status: 'ACTIVE' }),
      }),
    ])
  })

  test('S-299 Polls at the same time announce an approval once', async () => {
    const id = await senders.made('brands', completeBrand)
    const { trail } = await withTrail(t.database, org.org.id, () => Promise.all([poll(t), poll(t), poll(t)]))
    expect(await eventNames(id)).toEqual(['brand.verified'])
    expect(trail.map(({ action }) => action)).toEqual(['brand.verified'])
  })

  test('R-35 Approval with missing fields verifies the brand and shows them', async () => {
    const id = await senders.made('brands', completeBrand)
    await setRegistry(t, id, 'approved', { missing_fields: ['tax_letter'] })
    await poll(t)
    expect(await brandOf(id)).toMatchObject({ status: 'verified', provider_missing_fields: ['tax_letter'] })
  })

  test('R-35 A brand under review stays pending', async () => {
    const id = await senders.made('brands', completeBrand)
    await setRegistry(t, id, 'submitted')
    await poll(t)
    expect(await brandOf(id)).toMatchObject({ status: 'pending', provider_status: 'REVIEWING' })
    expect(await eventNames(id)).toEqual([])
  })
})

describe('rejection', () => {
  test('X-111 A-181 SD-80 An incomplete brand becomes unverified with the reasons of the registry', async () => {
    const id = await senders.made('brands', { ...completeBrand, email: null })
    const { trail } = await withTrail(t.database, org.org.id, () => poll(t))
    const reason = 'Required fields are missing: email.'
    expect(await brandOf(id)).toMatchObject({ status: 'unverified', status_reason: reason, verified_at: null })
    expect(await eventsOf(t.database, id)).toEqual([
      {
        event: 'brand.unverified',
        tenant_id: null,
        environment: null,
        data: { id, status: 'unverified', display_name: 'Example', provider_status: 'REQUIRES_UPDATES', reason },
      },
    ])
    expect(trail.map(({ action }) => action)).toEqual(['brand.unverified'])
  })

  test('SD-79 A verified brand that is rejected later loses its approval, and a later approval returns it', async () => {
    const id = await senders.verifiedBrand()
    await setRegistry(t, id, 'rejected', { reason: 'The tax id is wrong.', missing_fields: ['ein'] })
    await poll(t)
    expect(await brandOf(id)).toMatchObject({
      status: 'unverified',
      status_reason: 'The tax id is wrong.',
      provider_missing_fields: ['ein'],
      verified_at: null,
    })
    await setRegistry(t, id, 'approved', { missing_fields: [] })
    await poll(t)
    expect(await brandOf(id)).toMatchObject({ status: 'verified', status_reason: null, verified_at: iso })
    expect(await eventNames(id)).toEqual(['brand.verified', 'brand.unverified', 'brand.verified'])
  })

  test('A-186 A-190 SD-79 Campaign and number lose their approval with the brand, and regain it', async () => {
    const { brand, campaign, number } = await chain()
    await setRegistry(t, brand, 'rejected')
    const { result, trail } = await withTrail(t.database, org.org.id, () => poll(t))
    expect(result).toMatchObject({ verified: 0, unverified: 3 })
    expect(trail.map(({ action }) => action)).toEqual([
      'brand.unverified',
      'campaign.unverified',
      'phone_number.unverified',
    ])
    expect((await senders.get('campaigns', campaign)).body.status_reason).toBe('The brand is unverified.')
    expect((await senders.get('phone-numbers', number)).body.status_reason).toBe('The campaign is unverified.')
    await setRegistry(t, brand, 'approved')
    expect(await poll(t)).toMatchObject({ verified: 3, unverified: 0 })
  })

  test('A-183 A poll that changes a campaign otherwise writes campaign.updated', async () => {
    const campaign = await senders.made('campaigns', campaignOf(await senders.verifiedBrand()))
    await setRegistry(t, campaign, 'submitted')
    const { trail } = await withTrail(t.database, org.org.id, () => poll(t))
    expect(trail.map(({ action, resource_id }) => [action, resource_id])).toEqual([['campaign.updated', campaign]])
    expect(await eventNames(campaign)).toEqual([])
  })
})

describe('an unreadable registry', () => {
  test('SD-79 changes nothing', async () => {
    const { brand } = await chain()
    await senders.made('brands', { ...completeBrand, ein: null })
    await setRegistry(t, '*', 'unreachable')
    const counts = await leavesNoTrace(() => poll(t))
    expect(counts).toMatchObject({ verified: 0, unverified: 0 })
    expect(counts.unreadable).toBe(counts.polled)
    await setRegistry(t, '*', 'reachable')
    expect((await brandOf(brand)).status).toBe('verified')
  })

  test('R-35 One unreadable row does not stop the others', async () => {
    const [one, two] = [await senders.made('brands', completeBrand), await senders.made('brands', completeBrand)]
    await setRegistry(t, one, 'unreachable')
    expect(await poll(t)).toMatchObject({ verified: 1, unreadable: 1 })
    expect([(await brandOf(one)).status, (await brandOf(two)).status]).toEqual(['pending', 'verified'])
    await setRegistry(t, one, 'reachable')
    await poll(t)
    expect((await brandOf(one)).status).toBe('verified')
  })
})

describe('POST /api/dev/registry', () => {
  const set = (body: object) => t.ask('POST', '/api/dev/registry', { body })

  test('R-35 R-42 Unknown rows and statuses are refused', async () => {
    for (const id of [newId('brand'), newId('campaign'), newId('phoneNumber')]) {
      expect((await set({ id, status: 'approved' })).body.error.code).toBe('NOT_FOUND')
    }
    const id = await senders.made('brands', completeBrand)
    for (const body of [
      { id, status: 'verified' },
      { id: '*', status: 'approved' },
    ]) {
      const reply = await leavesNoTrace(() => set(body))
      expect([reply.status, reply.body.error.errors[0].path]).toEqual([422, ['status']])
    }
    expect((await set({ id, status: 'approved' })).body).toEqual({ id, status: 'approved' })
  })
})

test('S-266 An org cannot read the brands of another', async () => {
  const id = await senders.made('brands', completeBrand)
  const other = senderClient(t, await t.org())
  expectRefusal(await other.get('brands', id), 'NOT_FOUND')
  expect((await other.list('brands')).body.data).toEqual([])
})
