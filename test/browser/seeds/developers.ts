import { keyIdOf } from '../../clients/key-client.ts'
import { startReceiver } from '../../servers/receiver.ts'
import type { Seed } from '../every-page.ts'

/** Keys with and without restrictions, and an endpoint with deliveries that succeeded and failed. */
const seedDevelopers: Seed = async ({ t, org }) => {
  const { live } = org.keys
  const key = await keyIdOf(t, await t.key(org.org.id, { scopes: ['send:email', 'read:messages'], ratePerMinute: 60 }))
  const receiver = await startReceiver((_, response, nth) => {
    response.statusCode = nth % 2 === 0 ? 500 : 200
    response.end('{"received":true}')
  })
  const body = { url: receiver.url, events: ['message.delivered', 'message.bounced'], description: 'The order service' }
  const { body: endpoint } = await t.ask('POST', '/api/v1/webhooks', { key: live, body })
  const deliveries: string[] = []
  for (const event of ['message.delivered', 'message.bounced', 'webhook.test']) {
    const fired = await t.ask('POST', `/api/v1/webhooks/${endpoint.id}/test-fire`, { key: live, body: { event } })
    deliveries.push(fired.body.delivery_id)
  }
  await receiver.stop()
  return {
    '/api-keys': ['/api-keys?create=1', `/api-keys?open=${key}`],
    '/webhooks': [
      `/webhooks?open=${endpoint.id}`,
      `/webhooks?tab=settings&open=${endpoint.id}`,
      `/webhooks?open=${endpoint.id}&delivery=${deliveries[0]}`,
    ],
  }
}

export default seedDevelopers
