import { afterAll, expect, test, vi } from 'vitest'
import { campaignOf, completeBrand, senderClient } from '../../../../test/clients/sender-client.ts'
import { startEndUserMessaging } from '../../../../test/servers/end-user-messaging.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { type GuardedAgent, OutgoingFault } from '../../../platform/outgoing/guarded.ts'

vi.stubEnv('AWS_ACCESS_KEY_ID', 'id')
vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')

const evidence = 'https://example.com/consent.png'
const fetched: string[] = []
const agent = {
  request: async (url: string) => {
    fetched.push(url)
    if (url !== evidence) throw new OutgoingFault('connection', 'refused')
    return { status: 200, headers: {}, body: Buffer.from('image'), truncated: false }
  },
  close: async () => undefined,
} as unknown as GuardedAgent

const wire = await startEndUserMessaging()
wire.fields.push({
  FieldPath: 'messagingUseCase.optInImage',
  FieldType: 'ATTACHMENT',
  FieldRequirement: 'REQUIRED',
})
const t = await startTestService({ env: { SMS_PROVIDER: 'aws', AWS_ENDPOINT_URL: wire.url }, agent })
afterAll(async () => {
  await t.stop()
  await wire.stop()
  vi.unstubAllEnvs()
})

test('S-286 With SMS_PROVIDER=aws live rows go to AWS_ENDPOINT_URL, and evidence is fetched by the guarded agent', async () => {
  const senders = senderClient(t, await t.org())
  const brand = await senders.made('brands', completeBrand)
  const tollfree = (opt_in_evidence_url: string) => campaignOf(brand, { kind: 'tollfree', opt_in_evidence_url })
  const complete = await senders.create('campaigns', tollfree(evidence))
  expect([complete.status, complete.body.provider_status, complete.body.provider_missing_fields]).toEqual([
    201,
    'SUBMITTED',
    [],
  ])
  const uploads = wire.calls.filter(({ operation }) => operation === 'CreateRegistrationAttachment')
  expect(uploads.map(({ input }) => input.AttachmentBody)).toEqual([Buffer.from('image').toString('base64')])
  const lost = 'https://example.com/gone.png'
  const incomplete = await senders.create('campaigns', tollfree(lost))
  expect([incomplete.status, incomplete.body.provider_status, incomplete.body.provider_missing_fields]).toEqual([
    201,
    'CREATED',
    ['messagingUseCase.optInImage'],
  ])
  expect(fetched).toEqual([evidence, lost])
})

test('S-292 Test-mode rows never reach the provider', async () => {
  const org = await t.org()
  const before = wire.calls.length
  const { body } = await senderClient(t, org).create('brands', completeBrand, org.keys.test)
  expect([body.provider_id, wire.calls.length]).toEqual([`test-reg-${body.id.slice(4)}`, before])
})
