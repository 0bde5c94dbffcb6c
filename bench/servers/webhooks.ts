/**
 * Delivers to receivers on loopback: through the service (claim, signatures, URL check, record), or with a bare loop that
 * signs and posts the same bodies. Each client of the bench releases one healthy delivery and waits for its response.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Agent, request } from 'undici'
import { build } from '../../src/app/wiring/build.ts'
import { insertOrg } from '../../src/customers/orgs/store.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { readConfig } from '../../src/platform/ground/config/config.ts'
import { makeVault } from '../../src/platform/ground/crypto.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { makeLog } from '../../src/platform/ground/log.ts'
import { makeGuardedAgent } from '../../src/platform/outgoing/guarded.ts'
import { signedHeaders } from '../../src/webhooks/sign-delivery.ts'
import { insertEndpoint } from '../../src/webhooks/store/endpoint-rows.ts'
import { mintSecret, sealSecret } from '../../src/webhooks/webhook-secret.ts'
import { ownDatabase } from './own-database.ts'
import { workBench } from './work.ts'

export type WebhookParams = {
  databaseUrl: string
  contender: 'service' | 'bare' | 'idle' | 'idle-separate'
  healthy: number
  hanging: number
  failing: number
  /** Deliveries that are due at each endpoint at the start. */
  backlog: number
}

const masterKey = Buffer.alloc(32)

const startReceiver = async () => {
  const thread = new Worker(new URL('./receiver-thread.ts', import.meta.url))
  const [port] = (await once(thread, 'message')) as [number]
  return { at: (path: string) => `http://127.0.0.1:${port}${path}`, stop: () => thread.terminate() }
}

/** The payload as fan-out writes it. */
const bodyOf = (id: string, n: number): string =>
  `{"event":"message.delivered","data":{"status": "delivered", "channel": "email", "message_id": "msg_${String(n).padStart(26, '0')}"},"timestamp":"2026-01-15T12:00:00.000Z","environment":"live","tenant_id":null,"delivery_id":"${id}"}`

const bare = async ({ healthy }: WebhookParams) => {
  const receiver = await startReceiver()
  const dispatcher = new Agent({ connections: 100, pipelining: 1 })
  const secrets = Array.from({ length: healthy }, mintSecret)
  let n = 0
  return {
    one: async () => {
      const id = newId('webhookDelivery')
      const payload = bodyOf(id, n++)
      const delivery = {
        id,
        event: 'message.delivered',
        environment: 'live',
        tenantId: null,
        payload,
      } as const
      const headers = signedHeaders(delivery, [secrets[n % healthy] as string], Date.now())
      const answer = await request(receiver.at('/ok'), { method: 'POST', headers, body: payload, dispatcher })
      await answer.body.text()
    },
    close: async () => {
      await dispatcher.close()
      await receiver.stop()
    },
  }
}

const prepare = async (params: WebhookParams, at: (path: string) => string) => {
  const log = makeLog({ level: 'error', format: 'json', destination: '/dev/null' })
  const db = openDb({ url: params.databaseUrl, log, poolSize: 1 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  const orgId = newId('org')
  await db.row(insertOrg, { id: orgId, name: 'Bench', slug: orgId, plan: 'enterprise', at: systemClock.now() })
  const vault = makeVault(masterKey)
  const paths = [
    ...new Array(params.healthy).fill('/ok'),
    ...new Array(params.hanging).fill('/hang'),
    ...new Array(params.failing).fill('/fail'),
  ]
  const ids: string[] = []
  for (const path of paths) {
    const id = newId('webhookEndpoint')
    ids.push(id)
    const secret = sealSecret(vault, id, mintSecret())
    await db.row(insertEndpoint, {
      orgId,
      id,
      tenantId: null,
      url: at(path),
      description: null,
      events: ['*'],
      enabled: true,
      secret,
      environment: 'live',
      at: systemClock.now(),
    })
  }
  const client = await db.connect()
  await client.query('set statement_timeout = 0; set synchronous_commit = off')
  await client.query(
    `insert into webhook_deliveries
       (org_id, id, created_at, endpoint_id, environment, event, payload, status, max_attempts, next_attempt_at)
     select $1, id, $3, endpoint_id, 'live', 'message.delivered', replace($5, 'whd_', id), 'pending', 8, $3
     from (select e as endpoint_id, 'whd_01' || substr(md5(e || n), 1, 24) as id
           from unnest($2::text[]) with ordinality as u (e, place),
             generate_series(1, case when place <= $6 then $4::int else least($4::int, 300) end) n) d`,
    [orgId, ids, systemClock.now(), params.backlog, bodyOf('whd_', 1), params.healthy],
  )
  // Vacuums now, so that autovacuum does not run during a turn.
  await client.query('vacuum analyze webhook_deliveries')
  await client.query('update webhook_lanes set due_at = $2 where org_id = $1', [orgId, systemClock.now()])
  await client.end()
  await db.close()
  return { orgId, log }
}

const service = async (given: WebhookParams) => {
  const { contender, hanging } = given
  const own = await ownDatabase(given.databaseUrl, `bench_webhooks_${contender.replace('-', '_')}_${hanging}`)
  const params = { ...given, databaseUrl: own.url }
  const isIdle = contender === 'idle' || contender === 'idle-separate'
  // Failing endpoints are on another host, because sharing one with healthy endpoints would slow those down.
  const [receiver, failingReceiver] = [await startReceiver(), await startReceiver()]
  const at = (path: string) => (path === '/ok' ? receiver : failingReceiver).at(path)
  const { orgId, log } = await prepare(params, at)
  const agent = makeGuardedAgent({ allowInsecure: true })

  /** Clients that wait for a delivery, and deliveries that wait for a client. */
  const waitingClients: (() => void)[] = []
  const waitingDeliveries: (() => void)[] = []
  let turnUntil = 0
  const permit = async (url: string): Promise<(() => void) | undefined> => {
    if (isIdle) return undefined
    if (!url.endsWith('/ok')) {
      // Failing endpoints are active only during a turn.
      while (performance.now() > turnUntil) await new Promise((resolve) => setTimeout(resolve, 20))
      return undefined
    }
    while (waitingClients.length === 0) await new Promise<void>((resolve) => waitingDeliveries.push(resolve))
    return waitingClients.shift()
  }
  const gated: typeof agent = {
    ...agent,
    request: async (url, options) => {
      const answered = await permit(String(url))
      try {
        return await agent.request(url, options)
      } finally {
        answered?.()
        if (isIdle) waitingClients.shift()?.()
      }
    },
  }
  const config = { ...readConfig({ PORT: '0', WEBHOOK_ALLOW_INSECURE: 'true' }), masterKey }
  const built = await build(config, params.databaseUrl, log, { agent: gated })
  await built.startWorker()
  const writer = contender === 'idle-separate' ? await build(config, params.databaseUrl, log) : built
  const { appendEvents } = writer.modules
  const oneMore = (): Promise<void> =>
    new Promise((resolve) => {
      turnUntil = performance.now() + 300
      waitingClients.push(resolve)
      waitingDeliveries.shift()?.()
    })
  return {
    one: async () => {
      if (!isIdle) return oneMore()
      const answered = oneMore()
      const data = { message_id: newId('message'), channel: 'email', status: 'delivered' }
      await appendEvents(writer.db, {
        orgId,
        tenantId: null,
        environment: 'live',
        event: 'message.delivered',
        data,
      })
      await answered
    },
    close: async () => {
      // Releases the waiting deliveries, because the service waits for them when it stops.
      turnUntil = Number.POSITIVE_INFINITY
      const releasing = setInterval(() => {
        for (const release of waitingDeliveries.splice(0)) {
          waitingClients.push(() => undefined)
          release()
        }
      }, 1)
      // Stops the receivers first, because the service would wait for requests that never get a response.
      await Promise.all([receiver.stop(), failingReceiver.stop()])
      await built.stop()
      if (writer !== built) await writer.stop()
      clearInterval(releasing)
      await own.drop()
    },
  }
}

workBench((params: WebhookParams) => (params.contender === 'bare' ? bare(params) : service(params)))
