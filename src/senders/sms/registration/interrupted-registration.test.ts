import { expect, test } from 'vitest'
import { interrupt } from '../../../../test/clients/interrupt.ts'
import { campaignOf, completeBrand, senderClient } from '../../../../test/clients/sender-client.ts'
import { sharedTestService } from '../../../../test/service/service.ts'

const t = await sharedTestService()

const org = await t.org()
const senders = senderClient(t, org)
const brand = await senders.verifiedBrand()
const campaign = await senders.verifiedCampaign()

const registrations = [
  ['brands', completeBrand],
  ['campaigns', campaignOf(brand)],
  ['phone-numbers', { kind: 'number', type: 'longcode', iso_country: 'US', campaign_id: campaign }],
  ['phone-numbers', { kind: 'alphanumeric', iso_country: 'GB', sender_id: 'SHOP' }],
] as const

test.each(registrations)(
  'S-015 S-020 a registration under %s that is repeated after a crash returns the first one',
  async (noun, body) => {
    const keyed = { 'idempotency-key': `${noun} ${JSON.stringify(body).length}` }
    const first = await senders.create(noun, body, org.keys.live, keyed)
    expect(first.status).toBe(201)
    const before = (await senders.list(noun)).body.data.length
    await interrupt(t, keyed['idempotency-key'])
    const second = await senders.create(noun, body, org.keys.live, keyed)
    expect([second.status, second.body]).toEqual([201, first.body])
    expect((await senders.list(noun)).body.data.length).toBe(before)
  },
)
