/** The whole life of a sender with the registry of AWS on the wire, and with each of its calls failing. */
import { afterAll, beforeEach, expect, test } from 'vitest'
import {
  campaignOf,
  completeBrand,
  poll,
  runTask,
  type SenderClient,
  senderClient,
} from '../../../../test/clients/sender-client.ts'
import { startEndUserMessaging } from '../../../../test/servers/end-user-messaging.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { silentLog } from '../../../platform/ground/log.ts'
import { makeAwsRegistry } from '../../../providers/registry/aws-registry.ts'

const wire = await startEndUserMessaging()
wire.fields.push(
  ...['companyInfo.companyName', 'companyInfo.taxId', 'campaignInfo.campaignName'].map((FieldPath) => ({
    FieldPath,
    FieldType: 'TEXT',
    FieldRequirement: 'OPTIONAL',
  })),
)
const registry = makeAwsRegistry({
  region: 'us-east-1',
  endpoint: wire.url,
  credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
  timeouts: { connectMs: 1_000, responseMs: 2_000 },
  attempts: 1,
  log: silentLog(),
  fetchFile: async () => undefined,
})
const t = await startTestService({ registries: { of: () => registry, close: registry.close } })
afterAll(async () => {
  await t.stop()
  await wire.stop()
})

let senders: SenderClient
beforeEach(async () => {
  senders = senderClient(t, await t.org())
  wire.faults.clear()
})

const reconcile = () => runTask(t, 'reconcile')
const approveAll = async () => {
  for (const registration of wire.registrations.values()) {
    if (registration.status === 'SUBMITTED') registration.status = 'COMPLETE'
  }
  for (const number of wire.numbers.values()) number.status = 'ACTIVE'
  await poll(t)
}
const verifiedCampaign = async () => {
  const brand = await senders.made('brands', completeBrand)
  await approveAll()
  const campaign = await senders.made('campaigns', campaignOf(brand))
  await approveAll()
  return { brand, campaign }
}
const number = (campaign_id: string) => ({ iso_country: 'US', type: 'longcode', campaign_id })

test('S-266 S-280 S-288 S-299 A brand, a campaign and a number are registered, verified and removed', async () => {
  const { brand, campaign } = await verifiedCampaign()
  const made = await senders.create('phone-numbers', number(campaign))
  expect(made.body).toMatchObject({ status: 'pending', provider_status: 'PENDING', capabilities: ['sms', 'mms'] })
  await approveAll()
  const { id, provider_id, e164 } = made.body
  expect((await senders.get('phone-numbers', id)).body).toMatchObject({ status: 'verified', provider_status: 'ACTIVE' })
  const campaignRow = (await senders.get('campaigns', campaign)).body
  const brandRow = (await senders.get('brands', brand)).body
  expect(wire.registrations.get(campaignRow.provider_id)?.associations).toEqual([brandRow.provider_id])
  expect(wire.numbers.get(provider_id)).toEqual({ e164, status: 'ACTIVE', registration: campaignRow.provider_id })
  for (const [noun, row] of [
    ['phone-numbers', id],
    ['campaigns', campaign],
    ['brands', brand],
  ] as const) {
    expect((await senders.remove(noun, row)).status).toBe(200)
  }
  expect([wire.numbers.has(provider_id), wire.registrations.has(brandRow.provider_id)]).toEqual([false, false])
})

test.each(['CreateRegistration', 'DescribeRegistrations', 'PutRegistrationFieldValue', 'SubmitRegistrationVersion'])(
  'S-301 R-38 A brand whose %s call is lost is registered once by reconcile',
  async (operation) => {
    const before = wire.registrations.size
    wire.faults.set(operation, 'drop')
    const { status, body } = await senders.create('brands', completeBrand)
    expect([status, body.status, body.provider_status, body.provider_missing_fields]).toEqual([
      201,
      'pending',
      null,
      null,
    ])
    expect(await reconcile()).toEqual({ retried: 1, registered: 0, failed: 0 })
    wire.faults.clear()
    expect(await reconcile()).toEqual({ retried: 1, registered: 1, failed: 0 })
    expect(wire.registrations.size).toBe(before + 1)
    await approveAll()
    expect((await senders.get('brands', body.id)).body.status).toBe('verified')
  },
)

test.each(['CreateRegistration', 'CreateRegistrationAssociation', 'SubmitRegistrationVersion'])(
  'S-301 R-38 A campaign whose %s call is lost is registered once by reconcile',
  async (operation) => {
    const brand = await senders.made('brands', completeBrand)
    await approveAll()
    const before = wire.registrations.size
    wire.faults.set(operation, 'drop')
    const { status, body } = await senders.create('campaigns', campaignOf(brand))
    expect([status, body.status, body.provider_status]).toEqual([201, 'pending', null])
    wire.faults.clear()
    expect(await reconcile()).toEqual({ retried: 1, registered: 1, failed: 0 })
    expect(wire.registrations.size).toBe(before + 1)
  },
)

test('S-301 R-38 A number whose request is lost is provisioned once by reconcile', async () => {
  const { campaign } = await verifiedCampaign()
  const before = wire.numbers.size
  wire.faults.set('RequestPhoneNumber', 'drop')
  const { status, body } = await senders.create('phone-numbers', number(campaign))
  expect([status, body.status, body.e164]).toEqual([201, 'pending', null])
  wire.faults.clear()
  expect(await reconcile()).toEqual({ retried: 1, registered: 1, failed: 0 })
  expect(wire.numbers.size).toBe(before + 1)
})

test('S-273 A brand is registered although the form of the registry cannot be read', async () => {
  wire.faults.set('DescribeRegistrationFieldDefinitions', 'drop')
  const { status, body } = await senders.create('brands', completeBrand)
  expect([status, body.provider_status, body.provider_missing_fields]).toEqual([201, 'SUBMITTED', null])
})

test('R-38 Corrections, releases and deletions are answered with 502 while their call fails', async () => {
  const { brand, campaign } = await verifiedCampaign()
  const id = await senders.made('phone-numbers', number(campaign))
  const other = await senders.made('brands', completeBrand)
  const codeOf = async (operation: string, work: () => ReturnType<SenderClient['get']>) => {
    wire.faults.set(operation, 'drop')
    const reply = await work()
    wire.faults.clear()
    return [reply.status, reply.body.error?.code]
  }
  const unavailable = [502, 'PROVIDER_UNAVAILABLE']
  expect(await codeOf('DescribeRegistrations', () => senders.patch('brands', brand, { city: 'Rome' }))).toEqual(
    unavailable,
  )
  expect((await senders.get('brands', brand)).body.city).toBe('Rome')
  expect(
    await codeOf('CreateRegistrationAssociation', () => senders.patch('phone-numbers', id, { campaign_id: campaign })),
  ).toEqual(unavailable)
  expect(await codeOf('ReleasePhoneNumber', () => senders.remove('phone-numbers', id))).toEqual(unavailable)
  expect(await codeOf('DeleteRegistration', () => senders.remove('campaigns', campaign))).toEqual(unavailable)
  expect(await codeOf('DeleteRegistration', () => senders.remove('brands', other))).toEqual(unavailable)
  for (const [noun, row] of [
    ['phone-numbers', id],
    ['campaigns', campaign],
    ['brands', other],
  ] as const) {
    expect((await senders.get(noun, row)).status).toBe(200)
  }
})

test('SD-79 A poll that cannot read the registry changes nothing, and reads the denial later', async () => {
  const brand = await senders.made('brands', completeBrand)
  const { provider_id } = (await senders.get('brands', brand)).body
  Object.assign(wire.registrations.get(provider_id) ?? {}, {
    status: 'REQUIRES_UPDATES',
    denied: { reasons: ['Wrong tax id.'] },
  })
  for (const operation of ['DescribeRegistrations', 'DescribeRegistrationVersions']) {
    wire.faults.set(operation, 'drop')
    await poll(t)
    expect((await senders.get('brands', brand)).body.status).toBe('pending')
    wire.faults.clear()
  }
  await poll(t)
  expect((await senders.get('brands', brand)).body).toMatchObject({
    status: 'unverified',
    status_reason: 'Wrong tax id.',
  })
  expect((await senders.patch('brands', brand, { ein: '98-7654321' })).body.resubmit).toBe('pushed')
})
