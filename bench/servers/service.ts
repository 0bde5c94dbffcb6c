/** The whole service with a route that records one row and counts it. */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { makeCreateOrg } from '../../src/app/operator/create-org.ts'
import { build } from '../../src/app/wiring/build.ts'
import type { Modules } from '../../src/app/wiring/routes.ts'
import { setPlan } from '../../src/customers/orgs/store.ts'
import { byKey, defineRoute, type PublicRoute } from '../../src/interfaces/http/route.ts'
import { makeBatcher } from '../../src/platform/db/batch.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { statement } from '../../src/platform/db/statement.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { readConfig } from '../../src/platform/ground/config/config.ts'
import { makeVault } from '../../src/platform/ground/crypto.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { makeLog } from '../../src/platform/ground/log.ts'
import { serveBench } from './serve.ts'

const tables = `
  create table bench_service_rows (
    org_id text not null, id text not null, value text not null, created_at timestamptz not null,
    primary key (org_id, id));
  create table bench_service_counters (
    org_id text not null, period text not null, used bigint not null, primary key (org_id, period))`

const recordRows = statement<{ orgIds: string[]; ids: string[]; values: string[]; at: Date[] }>(
  'bench.record_rows',
  `with rows as (
     insert into bench_service_rows (org_id, id, value, created_at)
     select org_id, id, value, created_at
     from unnest(:orgIds::text[], :ids::text[], :values::text[], :at::timestamptz[])
       as entry (org_id, id, value, created_at)
     returning org_id, created_at
   )
   insert into bench_service_counters (org_id, period, used)
   select org_id, to_char(created_at at time zone 'UTC', 'YYYY-MM'), count(*) from rows group by 1, 2
   on conflict (org_id, period) do update set used = bench_service_counters.used + excluded.used`,
)

type Row = { orgId: string; id: string; value: string; at: Date }

const Body = z.object({ channel: z.enum(['email', 'sms']), value: z.email().max(320) })
const Shown = z.object({
  id: z.string(),
  org_id: z.string(),
  channel: z.string(),
  value: z.string(),
  reason: z.string(),
  created_at: z.iso.datetime(),
})

const recordRoute = ({ db }: Modules): PublicRoute => {
  const rows = makeBatcher<Row, void>({
    name: 'bench.record_rows',
    run: async (batch) => {
      await db.change(recordRows, {
        orgIds: batch.map((row) => row.orgId),
        ids: batch.map((row) => row.id),
        values: batch.map((row) => row.value),
        at: batch.map((row) => row.at),
      })
      return batch.map(() => undefined)
    },
  })
  return defineRoute('POST', '/bench/rows', byKey('write:suppressions'), {
    tag: 'Bench',
    summary: 'Record a row',
    idempotent: true,
    body: Body,
    responses: { 201: { schema: Shown, description: 'Recorded.' } },
    handle: async ({ caller, body: { channel, value } }) => {
      const at = systemClock.now()
      const id = newId('message', at.getTime())
      await rows.submit({ orgId: caller.orgId, id, value, at })
      return {
        status: 201,
        body: { id, org_id: caller.orgId, channel, value, reason: 'manual', created_at: at.toISOString() },
      }
    },
  })
}

serveBench(async ({ databaseUrl }: { databaseUrl: string }) => {
  // As in production, every request is logged and measured. Only the log lines are discarded.
  const log = makeLog({ level: 'info', format: 'json', destination: '/dev/null' })
  const masterKey = randomBytes(32)
  const config = { ...readConfig({ PORT: '0' }), masterKey }
  const db = openDb({ url: databaseUrl, log, poolSize: 1 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  const client = await db.connect()
  await client.query(tables).finally(() => client.end())

  const service = await build({ ...config, masterKey: Buffer.alloc(32) }, databaseUrl, log, {
    routes: (modules) => [recordRoute(modules)],
  })
  const url = await service.startApi()
  const { create } = makeCreateOrg({
    db,
    clock: systemClock,
    baseUrl: url,
    serviceDomain: config.serviceDomain,
    vault: makeVault(masterKey),
  })
  const { org, keys } = await create({ name: 'Bench', plan: 'enterprise', withSenders: false })
  await db.row(setPlan, {
    orgId: org.id,
    plan: 'enterprise',
    rate: 1_000_000_000,
    email: null,
    sms: null,
    at: systemClock.now(),
  })
  await db.close()
  return { ready: { port: Number(new URL(url).port), key: keys.live }, close: service.stop }
})
