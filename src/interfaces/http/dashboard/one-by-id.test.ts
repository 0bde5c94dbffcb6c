/** Reads one row by its id, for a detail that is opened by its address. */
import { afterAll, expect, test } from 'vitest'
import { domainClient } from '../../../../test/clients/domain-client.ts'
import { keyIdOf } from '../../../../test/clients/key-client.ts'
import { mail } from '../../../../test/clients/mailer.ts'
import { person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { startWebhookService, webhookClient } from '../../../../test/clients/webhook-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { type IdKind, newId } from '../../../platform/ground/ids.ts'

const t = await startWebhookService()
afterAll(() => t.stop())

const founded = await t.org({ plan: 'enterprise' })
const acme = webhookClient(t, founded)
const { orgId } = acme
const owner = await primaryOwner(t, orgId)
const developer = await person(t, { orgId, role: 'developer' })
const viewer = await person(t, { orgId, role: 'viewer' })
const other = await t.org({ name: 'Other' })
const stranger = await primaryOwner(t, other.org.id)

const sent = async (): Promise<string> => {
  const reply = await t.ask('POST', '/api/v1/emails', { key: founded.keys.live, body: mail() })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.id
}

const made = async (path: string, body: object): Promise<string> => (await owner.ask('POST', path, body)).body.id

/** Two of each, so that an id has to be looked at. */
const makers: [path: string, table: string, kind: IdKind, make: (nth: number) => Promise<string>][] = [
  ['api-keys', 'api_keys', 'key', async () => keyIdOf(t, await t.key(orgId))],
  ['domains', 'domains', 'domain', (nth) => domainClient(t, founded).added(`mail${nth}.example.test`)],
  ['webhooks', 'webhook_endpoints', 'webhookEndpoint', async () => (await acme.made({})).id],
  ['projects', 'projects', 'project', (nth) => made('/api/internal/projects', { name: `Shop ${nth}` })],
  ['ip-pools', 'ip_pools', 'ipPool', (nth) => made('/api/internal/ip-pools', { name: `pool-${nth}`, ip_count: 1 })],
]

test.each(makers)('/api/internal/%s/{id} reads what the list shows, and nothing of another org', async (...given) => {
  const [path, table, kind, make] = given
  const list = `/api/internal/${path}`
  const [id] = [await make(1), await make(2)]
  const { data } = (await viewer.ask('GET', `${list}?limit=100`)).body
  const listed = data.find((row: { id: string }) => row.id === id)
  expect(listed, id).toBeDefined()
  const read = await viewer.ask('GET', `${list}/${id}`)
  expect([read.status, read.body]).toEqual([200, listed])
  const foreign = { table, orgId, id, unknownId: newId(kind) }
  await expectOutOfReach(t, stranger, foreign, (tried) => [['GET', `${list}/${tried}`]])
})

test('/api/internal/audit/entries/{id} reads an entry as the list shows it, for developers only', async () => {
  await sent()
  const { data } = (await developer.ask('GET', '/api/internal/audit')).body
  const entry = data.at(-1)
  const read = await developer.ask('GET', `/api/internal/audit/entries/${entry.id}`)
  expect([read.status, read.body]).toEqual([200, entry])
  const refused = await viewer.ask('GET', `/api/internal/audit/entries/${entry.id}`)
  expect([refused.status, refused.body]).toEqual([403, { error: 'Developer or owner role required' }])
  const foreign = { table: 'audit_entries', orgId, id: entry.id, unknownId: newId('auditEntry') }
  await expectOutOfReach(t, stranger, foreign, (tried) => [['GET', `/api/internal/audit/entries/${tried}`]])
})

test('/api/internal/webhook-deliveries/{id} has the payload, the headers and the message of a delivery', async () => {
  const endpoint = await acme.made({})
  const message = await sent()
  await acme.run()
  const { data } = (await viewer.ask('GET', `/api/internal/webhook-deliveries?endpoint_id=${endpoint.id}`)).body
  const [listed] = data
  const request = endpoint.receiver.got.find(({ body }) => body.delivery_id === listed.id)
  const read = await viewer.ask('GET', `/api/internal/webhook-deliveries/${listed.id}`)
  const { payload, headers, message_id, ...delivery } = read.body
  expect([read.status, delivery, message_id]).toEqual([200, listed, message])
  expect(payload).toEqual(request?.body)
  expect(headers).toEqual({
    'Content-Type': 'application/json',
    'User-Agent': 'Tidings-Webhooks',
    'X-Service-Event': listed.event,
    'X-Service-Environment': 'live',
    'X-Service-Delivery-Id': listed.id,
    'Webhook-Id': listed.id,
    'X-Service-Signature': null,
    'X-Service-Timestamp': null,
    'X-Service-Signature-V2': null,
    'Webhook-Timestamp': null,
    'Webhook-Signature': null,
  })
  for (const [name, value] of Object.entries(headers)) {
    expect(request?.headers[name.toLowerCase()], name).toEqual(value ?? expect.any(String))
  }
  const foreign = { table: 'webhook_deliveries', orgId, id: listed.id, unknownId: newId('webhookDelivery') }
  await expectOutOfReach(t, stranger, foreign, (tried) => [['GET', `/api/internal/webhook-deliveries/${tried}`]])
})

test('A delivery of a test has no message', async () => {
  const endpoint = await acme.made({})
  const fired = await developer.ask('POST', `/api/internal/webhooks/${endpoint.id}/test`, { event: 'message.bounced' })
  const read = await viewer.ask('GET', `/api/internal/webhook-deliveries/${fired.body.delivery_id}`)
  expect([read.status, read.body.message_id, read.body.payload.event]).toEqual([200, null, 'message.bounced'])
})
