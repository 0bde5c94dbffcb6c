/** The cost of finding due deliveries: leases an endpoint queue, reads its first deliveries, and releases it. */
import { insertOrg } from '../../src/customers/orgs/store.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { makeLog } from '../../src/platform/ground/log.ts'
import { leaseQueues, readDueDeliveries, releaseQueues } from '../../src/webhooks/store/delivery-leases.ts'
import { insertEndpoint } from '../../src/webhooks/store/endpoint-rows.ts'
import { ownDatabase } from './own-database.ts'
import { workBench } from './work.ts'

const endpoints = 100

workBench(async ({ databaseUrl, pending }: { databaseUrl: string; pending: number }) => {
  const own = await ownDatabase(databaseUrl, `bench_claims_${pending}`)
  const log = makeLog({ level: 'error', format: 'json', destination: '/dev/null' })
  const db = openDb({ url: own.url, log, poolSize: 4 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  const orgId = newId('org')
  const at = systemClock.now()
  await db.row(insertOrg, { id: orgId, name: 'Bench', slug: orgId, plan: 'enterprise', at })
  const ids = Array.from({ length: endpoints }, () => newId('webhookEndpoint'))
  for (const id of ids) {
    await db.row(insertEndpoint, {
      orgId,
      id,
      tenantId: null,
      url: 'https://8.8.8.8/',
      description: null,
      events: ['*'],
      enabled: true,
      secret: 'x',
      environment: 'live',
      at,
    })
  }
  const client = await db.connect()
  // Keeps only the indexes that a claim reads, because filling the others would take most of the time.
  await client.query('set statement_timeout = 0; set synchronous_commit = off')
  await client.query('alter table webhook_deliveries drop constraint webhook_deliveries_pkey')
  for (const index of ['page', 'status', 'tenant', 'age']) {
    await client.query(`drop index webhook_deliveries_${index}`)
  }
  await client.query(
    `insert into webhook_deliveries
       (org_id, id, created_at, endpoint_id, environment, event, payload, status, max_attempts, next_attempt_at)
     select $1, 'whd_01' || substr(md5(e || n), 1, 24), $3, e, 'live', 'message.delivered', repeat('x', 250),
       'pending', 8, $3::timestamptz - n * interval '1 millisecond'
     from generate_series(1, $4) n, unnest($2::text[]) e`,
    [orgId, ids, at, pending / endpoints],
  )
  await client.query('update webhook_lanes set due_at = $1', [at])
  await client.query('vacuum analyze webhook_deliveries')
  await client.end()

  return {
    one: async (n) => {
      const worker = `worker ${n}`
      const now = systemClock.now()
      const lanes = await db.rows(leaseQueues, {
        worker,
        at: now,
        until: new Date(now.getTime() + 60_000),
        limit: 1,
        releasing: [],
      })
      const orgIds = lanes.map((lane) => lane.org_id)
      const endpointIds = lanes.map((lane) => lane.endpoint_id)
      const limits = lanes.map(() => 20)
      const due = await db.rows(readDueDeliveries, { at: now, orgIds, endpointIds, limits, inFlight: [] })
      if (lanes.length > 0 && due.length !== 20) throw new Error(`${due.length} were due`)
      await db.change(releaseQueues, { worker, orgIds, endpointIds })
    },
    close: async () => {
      await db.close()
      await own.drop()
    },
  }
})
