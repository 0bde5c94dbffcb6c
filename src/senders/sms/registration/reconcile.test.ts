import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { eventsOf } from '../../../../test/clients/domain-client.ts'
import { advance } from '../../../../test/clients/key-client.ts'
import {
  campaignOf,
  completeBrand,
  poll,
  runTask,
  type SenderClient,
  senderClient,
  setRegistry,
} from '../../../../test/clients/sender-client.ts'
import { startTestService } from '../../../../test/service/service.ts'
import type { CreatedOrg } from '../../../app/operator/create-org.ts'
import { makeLocalRegistry } from '../../../providers/registry/local-registry.ts'
import { RegistryFault, type SmsRegistry } from '../../../providers/registry/sms-registry.ts'

/** Each call by its name and the id of its row. Calls named in `broken` fail after they took effect. */
const calls: string[] = []
const broken = new Set<string>()
let registry: SmsRegistry | undefined

const recording = (real: SmsRegistry): SmsRegistry => {
  const entries = Object.entries(real).map(([name, value]) => {
    if (typeof value !== 'function' || name === 'close') return [name, value]
    return [
      name,
      async (first: { id: string } | string, ...rest: unknown[]) => {
        calls.push(`${name} ${typeof first === 'string' ? first : first.id}`)
        const result = await (value as (...all: unknown[]) => Promise<unknown>)(first, ...rest)
        if (broken.has(name)) throw new RegistryFault('unavailable', 'The connection was lost.')
        return result
      },
    ]
  })
  return Object.fromEntries(entries)
}

const t = await startTestService({ registries: { of: () => registry, close: async () => undefined } })
registry = recording(makeLocalRegistry({ db: t.service.db, clock: t.service.clock }))
afterAll(() => t.stop())

let org: CreatedOrg
let senders: SenderClient
beforeEach(async () => {
  org = await t.org()
  senders = senderClient(t, org)
})
afterEach(async () => {
  broken.clear()
  await setRegistry(t, '*', 'reachable')
})

const reconcile = () => runTask(t, 'reconcile')
const callsOf = (id: string) => calls.filter((call) => call.endsWith(id)).map((call) => call.split(' ')[0])
const shown = async (noun: 'brands' | 'campaigns' | 'phone-numbers', id: string) => (await senders.get(noun, id)).body

const orphans = async () => {
  const campaignOfNumber = await senders.verifiedCampaign()
  const brandOfCampaign = await senders.verifiedBrand()
  await setRegistry(t, '*', 'unreachable')
  const number = { iso_country: 'US', type: 'longcode', campaign_id: campaignOfNumber }
  const made = {
    brand: await senders.made('brands', completeBrand),
    campaign: await senders.made('campaigns', campaignOf(brandOfCampaign)),
    number: await senders.made('phone-numbers', number),
  }
  return made
}

describe('retries', () => {
  test('S-301 Reconcile registers what the registry did not get, with the corrected values', async () => {
    const { brand, campaign, number } = await orphans()
    await senders.patch('brands', brand, { city: 'Rome', ein: null })
    expect(await reconcile()).toEqual({ retried: 3, registered: 0, failed: 0 })
    await setRegistry(t, '*', 'reachable')
    const { result, trail } = await withTrail(t.database, org.org.id, reconcile)
    expect(result).toEqual({ retried: 3, registered: 3, failed: 0 })
    expect(await shown('brands', brand)).toMatchObject({
      status: 'pending',
      provider_status: 'SUBMITTED',
      provider_id: expect.any(String),
      provider_missing_fields: ['ein'],
    })
    expect(await shown('campaigns', campaign)).toMatchObject({
      provider_status: 'SUBMITTED',
      provider_missing_fields: [],
    })
    expect(await shown('phone-numbers', number)).toMatchObject({ provider_status: 'PENDING', e164: expect.any(String) })
    expect(trail.map(({ action, metadata }) => [action, metadata?.via])).toEqual([
      ['phone_number.provisioned', 'system'],
    ])
    expect(await reconcile()).toEqual({ retried: 0, registered: 0, failed: 0 })
    await poll(t)
    expect((await shown('phone-numbers', number)).status).toBe('verified')
  })

  test('S-301 Workers at the same time register each row once', async () => {
    const { brand, campaign, number } = await orphans()
    await setRegistry(t, '*', 'reachable')
    calls.length = 0
    const counts = await Promise.all([reconcile(), reconcile(), reconcile()])
    expect(counts.reduce((sum, { registered = 0 }) => sum + registered, 0)).toBe(3)
    expect([callsOf(brand), callsOf(campaign), callsOf(number)]).toEqual([
      ['open', 'submit'],
      ['open', 'submit'],
      ['provision'],
    ])
  })

  test('S-301 A registration that was interrupted continues where it stopped', async () => {
    broken.add('submit')
    const { body } = await senders.create('brands', completeBrand)
    expect([body.status, body.provider_status]).toEqual(['pending', null])
    broken.clear()
    calls.length = 0
    expect(await reconcile()).toMatchObject({ registered: 1 })
    expect(callsOf(body.id)).toEqual(['submit'])
  })

  test('S-301 A row whose worker stopped is taken over after ten minutes', async () => {
    await setRegistry(t, '*', 'unreachable')
    const id = await senders.made('brands', completeBrand)
    await setRegistry(t, '*', 'reachable')
    await t.database.sql('update brands set claimed_at = $2 where id = $1', [id, t.service.clock.now()])
    expect(await reconcile()).toMatchObject({ retried: 0 })
    await advance(t, 600)
    expect(await reconcile()).toMatchObject({ retried: 1, registered: 1 })
  })

  test('S-301 What was deleted while it was being registered is removed from the registry', async () => {
    await setRegistry(t, '*', 'unreachable')
    const brand = await senders.made('brands', completeBrand)
    await setRegistry(t, '*', 'reachable')
    const real = registry as SmsRegistry
    registry = {
      ...real,
      open: async (entry) => {
        const id = await real.open(entry)
        await t.database.sql('delete from brands where id = $1', [entry.id])
        return id
      },
    }
    calls.length = 0
    await reconcile()
    registry = real
    expect(callsOf(brand)).toEqual(['open', 'removeRegistration'])
  })

  test('S-301 A number that was deleted while it was being provisioned is released', async () => {
    const { number } = await orphans()
    await setRegistry(t, '*', 'reachable')
    const real = registry as SmsRegistry
    registry = {
      ...real,
      provision: async (request) => {
        const provisioned = await real.provision(request)
        await t.database.sql('delete from phone_numbers where id = $1', [request.id])
        return provisioned
      },
    }
    calls.length = 0
    await reconcile()
    registry = real
    expect(callsOf(number)).toEqual(['provision', 'release'])
  })

  test('X-257 A live number that the org has already is released, and another one is tried later', async () => {
    const { number } = await orphans()
    await setRegistry(t, '*', 'reachable')
    const real = registry as SmsRegistry
    const taken = '+12065550199'
    await t.database.sql(
      `insert into phone_numbers (org_id, id, environment, kind, e164, iso_country, status, created_at, updated_at)
       values ($1, 'num_taken', 'live', 'number', $2, 'US', 'verified', $3, $3)`,
      [org.org.id, taken, t.service.clock.now()],
    )
    registry = { ...real, provision: async (request) => ({ ...(await real.provision(request)), e164: taken }) }
    calls.length = 0
    expect(await reconcile()).toMatchObject({ retried: 3, registered: 2 })
    registry = real
    expect(callsOf(number)).toEqual(['provision', 'release'])
    await t.database.sql("delete from phone_numbers where id = 'num_taken'")
    expect(await reconcile()).toMatchObject({ retried: 1, registered: 1 })
  })
})

describe('giving up', () => {
  test('S-301 After seven days an orphan fails with RECONCILE_TIMEOUT and is left alone', async () => {
    const { brand, campaign, number } = await orphans()
    await advance(t, 7 * 86_400 - 3_600)
    expect(await reconcile()).toMatchObject({ failed: 0 })
    await advance(t, 3_601)
    const { result, trail } = await withTrail(t.database, org.org.id, reconcile)
    expect(result).toEqual({ retried: 0, registered: 0, failed: 3 })
    expect(trail.map(({ action, resource_id }) => [action, resource_id])).toEqual([['campaign.updated', campaign]])
    const failed = { status: 'failed', status_reason: 'RECONCILE_TIMEOUT', provider_status: null }
    expect(await shown('brands', brand)).toMatchObject(failed)
    expect(await shown('campaigns', campaign)).toMatchObject(failed)
    expect(await shown('phone-numbers', number)).toMatchObject(failed)
    for (const id of [brand, campaign, number]) expect(await eventsOf(t.database, id)).toEqual([])
    await setRegistry(t, '*', 'reachable')
    calls.length = 0
    expect(await reconcile()).toEqual({ retried: 0, registered: 0, failed: 0 })
    await poll(t)
    for (const id of [brand, campaign, number]) expect(callsOf(id)).toEqual([])
    const corrected = await senders.patch('brands', brand, { city: 'Rome' })
    expect([corrected.body.resubmit, corrected.body.status]).toEqual(['no_registration', 'failed'])
    expect((await senders.remove('brands', brand)).status).toBe(200)
  })
})

describe('an installation without a registry', () => {
  test('R-38 Nothing is created, and what exists can be deleted', async () => {
    const brand = await senders.made('brands', completeBrand)
    const real = registry
    registry = undefined
    const reply = await senders.create('brands', completeBrand)
    const corrected = await senders.patch('brands', brand, { city: 'Rome' })
    const removed = await senders.remove('brands', brand)
    await poll(t)
    await reconcile()
    registry = real
    expect([reply.status, reply.body.error.code, reply.body.error.message]).toEqual([
      502,
      'PROVIDER_UNAVAILABLE',
      'The SMS provider of this installation has no registry.',
    ])
    expect([corrected.status, removed.status]).toEqual([502, 200])
    expect((await senders.list('brands')).body.data).toEqual([])
  })
})
