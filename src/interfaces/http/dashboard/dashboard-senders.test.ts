/** Brands, campaigns and phone numbers through the dashboard. */
import { afterAll, describe, expect, test } from 'vitest'
import { type TrailEntry, withTrail } from '../../../../test/audit/trail.ts'
import { campaignOf, completeBrand, senderClient, setRegistry } from '../../../../test/clients/sender-client.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { iso } from '../../../../test/expect/instants.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import type { CreatedOrg } from '../../../app/operator/create-org.ts'
import { type IdKind, newId } from '../../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const brands = '/api/internal/brands'

test('S-276 A-311 AD-125 AD-159 an empty patch asks the registry and records a change under the name of the user', async () => {
  const { org } = await t.org()
  const developer = await person(t, { orgId: org.id, role: 'developer' })
  const { id } = (await developer.ask('POST', brands, completeBrand)).body
  await setRegistry(t, id, 'approved')
  const { result, trail } = await withTrail(t.database, org.id, () => developer.ask('PATCH', `${brands}?id=${id}`))
  expect([result.status, result.body.status]).toEqual([200, 'verified'])
  expect(trail.map(({ action, actor_user_id }) => [action, actor_user_id])).toEqual([
    ['brand.verified', developer.userId],
  ])
  const again = await leavesNoTrace(() => developer.ask('PATCH', `${brands}?id=${id}`, {}))
  expect([again.status, again.body]).toEqual([200, result.body])
  const misspelled = await leavesNoTrace(() => developer.ask('PATCH', `${brands}?id=${id}`, { stret: 'x' }))
  expect([misspelled.status, misspelled.body.code]).toEqual([422, 'VALIDATION_ERROR'])
  const campaign = await developer.ask('POST', '/api/internal/campaigns', campaignOf(id))
  expect(campaign.status).toBe(201)
  await setRegistry(t, campaign.body.id, 'approved')
  const checked = await developer.ask('PATCH', `/api/internal/campaigns?id=${campaign.body.id}`)
  expect([checked.status, checked.body.status]).toEqual([200, 'verified'])
})

test('A-358 AD-161 the eleventh registration in an hour over both surfaces is 429 without a code', async () => {
  const acme = await t.org()
  const owner = await primaryOwner(t, acme.org.id)
  for (let i = 0; i < 9; i++) await senderClient(t, acme).made('brands', completeBrand)
  expect((await owner.ask('POST', brands, completeBrand)).status).toBe(201)
  const reply = await leavesNoTrace(() => owner.ask('POST', brands, completeBrand))
  expect([reply.status, reply.body]).toEqual([429, { error: 'Provisioning limit reached: 10 per hour' }])
})

const campaigns = '/api/internal/campaigns'
const numbers = '/api/internal/phone-numbers'

/** An org with a developer, and a verified brand and campaign. */
const registered = async () => {
  const acme: CreatedOrg = await t.org()
  const developer = await person(t, { orgId: acme.org.id, role: 'developer' })
  const made = async (path: string, body: object) => {
    const { body: created } = await developer.ask('POST', path, body)
    await setRegistry(t, created.id, 'approved')
    await developer.ask('PATCH', `${path}?id=${created.id}`)
    return created.id as string
  }
  const brandId = await made(brands, completeBrand)
  const campaignId = await made(campaigns, campaignOf(brandId))
  return { acme, developer, brandId, campaignId, withEntries: withEntriesOf(acme) }
}

const withEntriesOf =
  ({ org }: CreatedOrg) =>
  <T>(work: () => Promise<T>) =>
    withTrail(t.database, org.id, work)

/** Who did what to which row. */
const shortened = (trail: TrailEntry[]) =>
  trail.map(({ actor_user_id, action, resource_type, resource_id }) => [
    actor_user_id,
    action,
    resource_type,
    resource_id,
  ])

const longcode = { iso_country: 'US', type: 'longcode' }

describe('registering', () => {
  test('A-066 AD-158 a developer registers, corrects and removes a brand', async () => {
    const acme = await t.org()
    const withEntries = withEntriesOf(acme)
    const developer = await person(t, { orgId: acme.org.id, role: 'developer' })
    const viewer = await person(t, { orgId: acme.org.id, role: 'viewer' })
    const created = await withEntries(() => developer.ask('POST', brands, completeBrand))
    const { id } = created.result.body
    const brand = {
      ...completeBrand,
      id,
      status: 'pending',
      status_reason: null,
      environment: 'live',
      provider_id: `registration-${id.slice(4)}`,
      provider_status: 'SUBMITTED',
      provider_missing_fields: [],
      stock_symbol: null,
      stock_exchange: null,
      verified_at: null,
      created_at: iso,
      updated_at: iso,
    }
    expect([created.result.status, created.result.body]).toEqual([201, brand])
    expect(created.trail).toEqual([
      expect.objectContaining({
        actor_user_id: developer.userId,
        action: 'brand.created',
        resource_type: 'brand',
        resource_id: id,
        metadata: { display_name: 'Example', entity_type: 'private_profit', environment: 'live' },
      }),
    ])
    expect((await viewer.ask('GET', `${brands}?id=${id}`)).body).toEqual(brand)
    expect((await viewer.ask('GET', brands)).body).toEqual({ data: [brand], has_more: false, next_cursor: null })
    expect((await viewer.ask('GET', `${brands}?environment=test`)).body.data).toEqual([])
    expect((await senderClient(t, acme).get('brands', id)).body).toEqual(brand)

    await setRegistry(t, id, 'rejected')
    await developer.ask('PATCH', `${brands}?id=${id}`)
    const corrected = await withEntries(() => developer.ask('PATCH', `${brands}?id=${id}`, { street: '2 Main St' }))
    expect([corrected.result.status, corrected.result.body.street]).toEqual([200, '2 Main St'])
    expect(Object.keys(corrected.result.body)).toContain('resubmit')
    expect(shortened(corrected.trail)).toEqual([[developer.userId, 'brand.updated', 'brand', id]])

    const removed = await withEntries(() => developer.ask('DELETE', `${brands}?id=${id}`))
    expect([removed.result.status, removed.result.body]).toEqual([200, { id, deleted: true }])
    expect(shortened(removed.trail)).toEqual([[developer.userId, 'brand.removed', 'brand', id]])
    expect((await viewer.ask('GET', `${brands}?id=${id}`)).status).toBe(404)
  })

  test('A-067 AD-159 a developer registers and removes a campaign', async () => {
    const { acme, developer, brandId, withEntries } = await registered()
    const body = campaignOf(brandId, { name: 'Codes' })
    const { result, trail } = await withEntries(() => developer.ask('POST', campaigns, body))
    const { id } = result.body
    expect([result.status, result.body]).toEqual([201, (await senderClient(t, acme).get('campaigns', id)).body])
    expect(result.body).toMatchObject({ ...body, id, status: 'pending', environment: 'live', verified_at: null })
    expect(shortened(trail)).toEqual([[developer.userId, 'campaign.created', 'campaign', id]])
    const viewer = await person(t, { orgId: acme.org.id, role: 'viewer' })
    expect((await viewer.ask('GET', `${campaigns}?id=${id}`)).body).toEqual(result.body)
    expect((await viewer.ask('GET', `${campaigns}?limit=1`)).body).toMatchObject({
      data: [result.body],
      has_more: true,
    })
    const fields = await leavesNoTrace(() => developer.ask('PATCH', `${campaigns}?id=${id}`, { name: 'Other' }))
    expect([fields.status, fields.body.code]).toEqual([422, 'VALIDATION_ERROR'])

    const removed = await withEntries(() => developer.ask('DELETE', `${campaigns}?id=${id}`))
    expect([removed.result.status, removed.result.body]).toEqual([200, { id, deleted: true }])
    expect(shortened(removed.trail)).toEqual([[developer.userId, 'campaign.removed', 'campaign', id]])
  })

  test('A-068 AD-160 a developer provisions, binds and releases a number', async () => {
    const { acme, developer, brandId, campaignId, withEntries } = await registered()
    const { result, trail } = await withEntries(() =>
      developer.ask('POST', numbers, { ...longcode, campaign_id: campaignId }),
    )
    const { id } = result.body
    expect(result.status, result.text).toBe(201)
    const shown = (await senderClient(t, acme).get('phone-numbers', id)).body
    expect(result.body).toEqual(shown)
    expect(Object.keys(shown).sort()).toEqual(
      [
        ['id', 'kind', 'type', 'iso_country', 'e164', 'sender_id', 'campaign_id', 'status', 'status_reason'],
        ['provider_id', 'provider_status', 'capabilities', 'environment', 'tenant_id', 'verified_at'],
        ['created_at', 'updated_at'],
      ]
        .flat()
        .sort(),
    )
    expect(shown).toMatchObject({ kind: 'number', type: 'longcode', campaign_id: campaignId, environment: 'live' })
    expect(shortened(trail)).toEqual([[developer.userId, 'phone_number.provisioned', 'phone_number', id]])
    const viewer = await person(t, { orgId: acme.org.id, role: 'viewer' })
    expect((await viewer.ask('GET', `${numbers}?id=${id}`)).body).toEqual(shown)
    expect((await viewer.ask('GET', `${numbers}?limit=1`)).body).toMatchObject({ data: [shown], has_more: true })
    for (const none of ['environment=test', `tenant_id=${newId('tenant')}`]) {
      expect((await viewer.ask('GET', `${numbers}?${none}`)).body.data).toEqual([])
    }

    const other = (await developer.ask('POST', campaigns, campaignOf(brandId, { name: 'Codes' }))).body.id
    await setRegistry(t, other, 'approved')
    await developer.ask('PATCH', `${campaigns}?id=${other}`)
    const bound = await developer.ask('PATCH', `${numbers}?id=${id}`, { campaign_id: other })
    expect([bound.status, bound.body]).toEqual([200, { ...shown, campaign_id: other, updated_at: iso }])
    const empty = await leavesNoTrace(() => developer.ask('PATCH', `${numbers}?id=${id}`, {}))
    expect([empty.status, empty.body.code]).toEqual([422, 'NO_FIELDS'])

    const released = await withEntries(() => developer.ask('DELETE', `${numbers}?id=${id}`))
    expect([released.result.status, released.result.body]).toEqual([200, { id, deleted: true }])
    expect(shortened(released.trail)).toEqual([[developer.userId, 'phone_number.released', 'phone_number', id]])
  })
})

describe('reach', async () => {
  const { acme, developer, brandId, campaignId } = await registered()
  const number = { ...longcode, campaign_id: campaignId }
  const numberId: string = (await developer.ask('POST', numbers, number)).body.id
  const stranger = await person(t, { orgId: (await t.org()).org.id, role: 'developer' })
  const member: Member = await person(t, { orgId: acme.org.id, role: 'member' })
  const viewer: Member = await person(t, { orgId: acme.org.id, role: 'viewer' })

  type Kind = { path: string; id: string; table: string; kind: IdKind; body: object; change: object }
  const kinds: [name: string, Kind][] = [
    [
      'A-066 brands',
      { path: brands, id: brandId, table: 'brands', kind: 'brand', body: completeBrand, change: { city: 'Dallas' } },
    ],
    [
      'A-067 campaigns',
      { path: campaigns, id: campaignId, table: 'campaigns', kind: 'campaign', body: campaignOf(brandId), change: {} },
    ],
    [
      'A-068 phone numbers',
      { path: numbers, id: numberId, table: 'phone_numbers', kind: 'phoneNumber', body: number, change: number },
    ],
  ]

  test.each(kinds)('%s: a member and a viewer read them and change none', async (_, { path, id, body, change }) => {
    await leavesNoTrace(async () => {
      for (const who of [member, viewer]) {
        expect((await who.ask('GET', `${path}?id=${id}`)).body.id).toBe(id)
        for (const [method, url, sent] of [
          ['POST', path, body],
          ['PATCH', `${path}?id=${id}`, change],
          ['DELETE', `${path}?id=${id}`],
        ] as const) {
          const reply = await who.ask(method, url, sent)
          expect([reply.status, reply.body], method).toEqual([403, { error: 'Developer or owner role required' }])
        }
      }
    })
  })

  test.each(kinds)('%s of another org cannot be reached', async (_, { path, id, table, kind, change }) => {
    const foreign = { table, orgId: acme.org.id, id, unknownId: newId(kind) }
    await expectOutOfReach(t, stranger, foreign, (given) => [
      ['GET', `${path}?id=${given}`],
      ['PATCH', `${path}?id=${given}`, change],
      ['DELETE', `${path}?id=${given}`],
    ])
    expect((await stranger.ask('GET', path)).text).not.toContain(id)
  })

  test('A-030 what another org registered cannot be used for a campaign, a number or a binding', async () => {
    const own = await registered()
    const ownNumber = (await own.developer.ask('POST', numbers, { ...longcode, campaign_id: own.campaignId })).body.id
    const uses = [
      ['POST', campaigns, campaignOf(brandId), 'BRAND_NOT_FOUND'],
      ['POST', numbers, number, 'CAMPAIGN_NOT_FOUND'],
      ['PATCH', `${numbers}?id=${ownNumber}`, { campaign_id: campaignId }, 'CAMPAIGN_NOT_FOUND'],
    ] as const
    for (const [method, url, body, code] of uses) {
      const reply = await leavesNoTrace(() => own.developer.ask(method, url, body))
      expect([reply.status, reply.body.code], url).toEqual([422, code])
    }
  })
})
