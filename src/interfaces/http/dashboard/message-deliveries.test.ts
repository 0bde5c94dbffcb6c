/** The webhook deliveries about one message. */
import { afterAll, expect, test } from 'vitest'
import { mail } from '../../../../test/clients/mailer.ts'
import { person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { startWebhookService, webhookClient } from '../../../../test/clients/webhook-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import type { Reply } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startWebhookService()
afterAll(() => t.stop())

const founded = await t.org()
const acme = webhookClient(t, founded)
const developer = await person(t, { orgId: acme.orgId, role: 'developer' })
const viewer = await person(t, { orgId: acme.orgId, role: 'viewer' })
const pathOf = (id: string) => `/api/internal/messages/${id}/deliveries`
const idsOf = ({ body }: Reply): string[] => body.data.map(({ id }: { id: string }) => id)

const sent = async (): Promise<string> => {
  const reply = await t.ask('POST', '/api/v1/emails', { key: founded.keys.live, body: mail() })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.id
}

test('lists the deliveries about a message of all endpoints, replays included, newest first', async () => {
  const [first, second] = [await acme.made({}), await acme.made({})]
  const [message, other] = [await sent(), await sent()]
  await acme.run()
  const reply = await viewer.ask('GET', pathOf(message))
  expect([reply.status, reply.body.has_more, reply.body.next_cursor]).toEqual([200, false, null])
  const { data } = (await viewer.ask('GET', '/api/internal/webhook-deliveries')).body
  const ofMessage = await t.database.sql<{ id: string }>(
    `select id from webhook_deliveries where payload like '%' || $1 || '%' order by created_at desc, id desc`,
    [message],
  )
  expect(idsOf(reply)).toEqual(ofMessage.map(({ id }) => id))
  expect(reply.body.data).toEqual(data.filter(({ id }: { id: string }) => idsOf(reply).includes(id)))
  const endpoints = reply.body.data.map((row: { endpoint_id: string }) => row.endpoint_id)
  expect(endpoints.toSorted()).toEqual([first.id, second.id].toSorted())

  const [delivery] = idsOf(reply) as [string, string]
  const replayed = await developer.ask('POST', `/api/internal/webhook-deliveries/${delivery}/replay`)
  expect(replayed.status, replayed.text).toBe(202)
  const after = idsOf(await viewer.ask('GET', pathOf(message)))
  expect(after.toSorted()).toEqual([replayed.body.delivery_id, ...idsOf(reply)].toSorted())
  const page = await viewer.ask('GET', `${pathOf(message)}?limit=2`)
  expect(idsOf(page)).toEqual(after.slice(0, 2))
  expect(idsOf(await viewer.ask('GET', `${pathOf(message)}?cursor=${page.body.next_cursor}`))).toEqual(after.slice(2))
  expect(idsOf(await viewer.ask('GET', pathOf(other)))).toHaveLength(2)
})

test('a delivery that the previous release stored is not found, and a message without deliveries has none', async () => {
  const message = await sent()
  const none = { data: [], has_more: false, next_cursor: null }
  expect((await viewer.ask('GET', pathOf(message))).body).toEqual(none)
  await acme.run()
  await t.database.sql('update webhook_deliveries set message_id = null where message_id = $1', [message])
  expect((await viewer.ask('GET', pathOf(message))).body).toEqual(none)
})

test('AD-04 the deliveries about the message of another org are not found', async () => {
  const stranger = await primaryOwner(t, (await t.org()).org.id)
  const foreign = { table: 'messages', orgId: acme.orgId, id: await sent(), unknownId: newId('message') }
  await expectOutOfReach(t, stranger, foreign, (id) => [['GET', pathOf(id)]])
})
