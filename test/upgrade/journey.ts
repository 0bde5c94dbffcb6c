/** What customers do with the service, one short journey per noun of the API. Every response is compared. */
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, request } from 'undici'

type Body = Record<string, unknown> & { id: string; data: { id: string; status: string }[] }
type More = { body?: unknown; headers?: Record<string, string>; key?: string }

export type Promised = { id: string; status: 'sent' | 'scheduled' | 'canceled' }

export type Customers = {
  /** All acknowledged messages with the status that they must end in. */
  promised: Promised[]
  /** Unexpected responses. */
  faults: string[]
  /** How often each journey was completed, by release and name. */
  completed: Record<string, number>
  /** Repeats all journeys on the API at `url` until `stop` is called. */
  visit(release: string, url: string, clients: number): { stop(): Promise<void> }
  close(): Promise<void>
}

class Unexpected extends Error {}

const letter = { from: 'hello@example.test', subject: 'A subject', text: 'Hi' }

export const makeCustomers = (key: string, endpointId: () => string): Customers => {
  const agent = new Agent({ keepAliveTimeout: 1_000, connections: 64 })
  const promised: Promised[] = []
  const faults: string[] = []
  const completed: Record<string, number> = {}
  let count = 0

  const client = (url: string) => {
    const ask = async (
      expected: number,
      method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
      path: string,
      more: More = {},
    ) => {
      const response = await request(`${url}/api/v1${path}`, {
        method,
        dispatcher: agent,
        headers: {
          authorization: `Bearer ${more.key ?? key}`,
          ...(more.body !== undefined && { 'content-type': 'application/json' }),
          ...more.headers,
        },
        body: more.body === undefined ? null : JSON.stringify(more.body),
      })
      const text = await response.body.text()
      if (response.statusCode !== expected) {
        throw new Unexpected(`${method} ${path} responded ${response.statusCode}: ${text.slice(0, 400)}`)
      }
      return JSON.parse(text) as Body
    }
    let keysMade = 0
    const unique = () => `${Date.now().toString(36)}-${count++}`
    const to = () => [`reader-${unique()}@reader.test`]
    const send = async (status: Promised['status'], more: object = {}, options: More = {}): Promise<string> => {
      const body = { ...letter, to: to(), ...more }
      const { id } = await ask(200, 'POST', '/emails', { body, ...options })
      promised.push({ id, status })
      return id
    }
    const soon = () => new Date(Date.now() + 1_200 + Math.random() * 1_500).toISOString()
    const later = () => new Date(Date.now() + 86_400_000).toISOString()

    return {
      single: async () => {
        const id = await send('sent', { html: '<p>Hi <a href="https://example.test/">you</a></p>', track_opens: true })
        const found = await ask(200, 'GET', `/emails/${id}`)
        if (found.status !== 'sent') throw new Unexpected(`${id} is ${found.status}`)
      },
      repeated: async () => {
        const headers = { 'idempotency-key': `repeat-${unique()}` }
        const body = { ...letter, to: to() }
        const first = await ask(200, 'POST', '/emails', { body, headers })
        promised.push({ id: first.id, status: 'sent' })
        const second = await ask(200, 'POST', '/emails', { body, headers })
        if (second.id !== first.id) throw new Unexpected(`the repetition of ${first.id} responded ${second.id}`)
      },
      batch: async () => {
        const body = Array.from({ length: 5 }, () => ({ ...letter, to: to() }))
        const { data } = await ask(200, 'POST', '/emails/batch', { body })
        for (const { id, status } of data) {
          if (status !== 'sent') throw new Unexpected(`an item of a batch is ${status}`)
          promised.push({ id, status })
        }
      },
      scheduled: async () => {
        await send('sent', { scheduled_at: soon() })
        await send('sent', { scheduled_at: soon() })
        await send('scheduled', { scheduled_at: later() })
        const canceled = await send('canceled', { scheduled_at: later() })
        await ask(200, 'DELETE', `/emails/${canceled}`)
      },
      lists: async () => {
        for (const noun of [
          'emails',
          'keys',
          'templates',
          'tenants',
          'suppressions',
          'webhooks',
          'domains',
          'projects',
        ]) {
          await ask(200, 'GET', `/${noun}?limit=5`)
        }
        await ask(200, 'GET', '/usage')
      },
      webhook: async () => {
        await ask(200, 'GET', `/webhooks/${endpointId()}`)
        await ask(200, 'PATCH', `/webhooks/${endpointId()}`, { body: { description: `Changed ${unique()}` } })
        const { data } = await ask(200, 'GET', `/webhooks/${endpointId()}/deliveries?limit=1`)
        const delivery = data[0]?.id
        if (delivery) await ask(200, 'GET', `/webhooks/${endpointId()}/deliveries/${delivery}`)
      },
      key: async () => {
        // An org can create ten keys per hour.
        if (++keysMade > 4) return
        const body = { name: 'A key', scopes: ['send:email', 'read:usage'] }
        const made = await ask(201, 'POST', '/keys', { body })
        await send('sent', {}, { key: made.key as string })
        await ask(200, 'PATCH', `/keys/${made.id}`, { body: { name: 'Another name' } })
        await ask(200, 'GET', `/keys/${made.id}`)
        await ask(200, 'DELETE', `/keys/${made.id}`)
        await ask(401, 'GET', '/usage', { key: made.key as string })
      },
      template: async () => {
        const slug = `t-${unique()}`
        const body = { slug, channel: 'email', subject: 'Hi {{name}}', text: 'Dear {{name}}' }
        const made = await ask(201, 'POST', '/templates', { body })
        await ask(200, 'POST', '/templates/preview', { body: { slug, variables: { name: 'Ada' } } })
        const { from } = letter
        const sent = await ask(200, 'POST', '/emails', {
          body: { from, to: to(), template: slug, variables: { name: 'Ada' } },
        })
        promised.push({ id: sent.id, status: 'sent' })
        await ask(200, 'PATCH', `/templates/${made.id}`, { body: { subject: 'Hello {{name}}' } })
        await ask(200, 'DELETE', `/templates/${made.id}`)
      },
      suppression: async () => {
        const value = `blocked-${unique()}@reader.test`
        const made = await ask(201, 'POST', '/suppressions', { body: { channel: 'email', value } })
        await ask(422, 'POST', '/emails', { body: { ...letter, to: [value] } })
        await ask(200, 'GET', `/suppressions/${made.id}`)
        await ask(200, 'DELETE', `/suppressions/${made.id}`)
        await send('sent', { to: [value] })
      },
      tenant: async () => {
        const headers = { 'x-service-tenant-ref': `customer-${count++ % 20}` }
        await send('sent', {}, { headers })
        const { data } = await ask(200, 'GET', '/tenants?limit=1')
        const id = data[0]?.id
        await ask(200, 'GET', `/tenants/${id}`)
        await ask(200, 'GET', `/tenants/${id}/usage`)
        await ask(200, 'PATCH', `/tenants/${id}`, { body: { name: `Customer ${unique()}` } })
      },
      domain: async () => {
        const made = await ask(201, 'POST', '/domains', { body: { name: `d-${unique()}.example.com` } })
        await ask(200, 'GET', `/domains/${made.id}`)
        await ask(200, 'DELETE', `/domains/${made.id}`)
      },
    }
  }

  return {
    promised,
    faults,
    completed,
    visit: (release, url, clients) => {
      const journeys = Object.entries(client(url))
      let stopping = false
      const visitor = async (first: number): Promise<void> => {
        for (let n = first; !stopping; n++) {
          const [name, journey] = journeys[n % journeys.length] as (typeof journeys)[number]
          try {
            await journey()
            completed[`${release} ${name}`] = (completed[`${release} ${name}`] ?? 0) + 1
          } catch (error) {
            faults.push(`${release}, ${name}: ${error instanceof Unexpected ? error.message : (error as Error).stack}`)
          }
          await wait(Math.random() * 50)
        }
      }
      const visits = Promise.all(Array.from({ length: clients }, (_, i) => visitor(i * 2)))
      return {
        stop: async () => {
          stopping = true
          await visits
        },
      }
    },
    close: () => agent.close(),
  }
}
