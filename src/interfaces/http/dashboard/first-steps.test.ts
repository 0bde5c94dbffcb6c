import { afterAll, beforeEach, expect, test } from 'vitest'
import { addPerson, askWith, signIn } from '../../../../test/clients/people.ts'
import { type Member, person } from '../../../../test/clients/team-client.ts'
import { startTestService } from '../../../../test/service/service.ts'
import type { CreatedOrg } from '../../../app/operator/create-org.ts'

const t = await startTestService()
afterAll(() => t.stop())

const path = '/api/internal/first-steps'

let acme: CreatedOrg
let owner: Member
beforeEach(async () => {
  acme = await t.org()
  owner = await person(t, { orgId: acme.org.id, role: 'owner' })
})

const read = async () => (await owner.ask('GET', path)).body
const made = async (of: string, body: object): Promise<{ id: string }> => {
  const reply = await owner.ask('POST', `/api/internal/${of}`, body)
  expect(reply.status, reply.text).toBe(201)
  return reply.body
}
const removed = async (of: string, id: string): Promise<void> => {
  expect((await owner.ask('DELETE', `/api/internal/${of}?id=${id}`)).status).toBe(200)
}
const mail = { from: 'hello@example.test', to: ['ann@example.test'], subject: 'Hello', text: 'Hello' }

test('An org that somebody has just created has done nothing, and can send from its sandbox', async () => {
  const cookie = await signIn(t, (await addPerson(t)).userId)
  const { body: org } = await askWith(t, cookie, 'POST', '/api/internal/org', { body: { name: 'Fresh' } })
  const reply = await askWith(t, cookie, 'GET', path)
  expect([reply.status, reply.body]).toEqual([
    200,
    { done: [], sender: `${org.slug}.sandbox.tidings.test`, sandbox: true, domain_waits: false },
  ])
})

test('The keys and the domain of a new installation count', async () => {
  expect(await read()).toEqual({
    done: ['create_api_key', 'verify_domain'],
    sender: 'example.test',
    sandbox: false,
    domain_waits: false,
  })
})

test('The key that a new installation prints is enough for the first message, which anybody in the org sees', async () => {
  const sent = await t.ask('POST', '/api/v1/emails', { key: acme.keys.test, body: mail })
  expect([sent.status, sent.body.status]).toEqual([200, 'sent'])
  const viewer = await person(t, { orgId: acme.org.id, role: 'viewer' })
  const { done } = (await viewer.ask('GET', path)).body
  expect(done).toEqual(['create_api_key', 'send_message', 'see_it_sent', 'verify_domain'])
})

test('A scheduled message is no sent one', async () => {
  const at = new Date(t.service.clock.millis() + 3_600_000).toISOString()
  await t.ask('POST', '/api/v1/emails', { key: acme.keys.live, body: { ...mail, scheduled_at: at } })
  expect((await read()).done).toEqual(['create_api_key', 'send_message', 'verify_domain'])
})

test('A step stays done when its key, its domain and its endpoint are gone', async () => {
  await t.ask('POST', '/api/v1/emails', { key: acme.keys.live, body: mail })
  const endpoint = await made('webhooks', { url: 'https://93.184.215.14/hooks', events: ['message.delivered'] })
  const domain = await made('domains', { name: 'shop.test' })
  await owner.ask('PATCH', '/api/internal/domains', { id: domain.id })
  const all = ['create_api_key', 'send_message', 'see_it_sent', 'verify_domain', 'add_webhook']
  expect((await read()).done).toEqual(all)
  await removed('webhooks', endpoint.id)
  for (const of of ['domains', 'api-keys']) {
    const { data } = (await owner.ask('GET', `/api/internal/${of}`)).body
    for (const { id } of data) await removed(of, id)
  }
  expect(await read()).toMatchObject({ done: all, sandbox: true })
})

test('A domain without its DNS records waits', async () => {
  const [{ id }] = (await owner.ask('GET', '/api/internal/domains')).body.data
  await removed('domains', id)
  await made('domains', { name: 'mail.example.com' })
  expect(await read()).toMatchObject({ sandbox: true, domain_waits: true })
})

test('What another org has done does not count', async () => {
  const other = await t.org({ name: 'Other' })
  await t.ask('POST', '/api/v1/emails', { key: other.keys.live, body: mail })
  const endpoint = await t.ask('POST', '/api/v1/webhooks', {
    key: other.keys.live,
    body: { url: 'https://93.184.215.14/hooks', events: ['message.delivered'] },
  })
  expect(endpoint.status).toBe(201)
  expect((await read()).done).toEqual(['create_api_key', 'verify_domain'])
})
