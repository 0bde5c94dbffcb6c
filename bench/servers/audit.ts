/** Writes audit entries of one org, each in its own transaction: with the chain, or into a plain table. */
import { randomBytes } from 'node:crypto'
import { build } from '../../src/app/wiring/build.ts'
import { makePassLoop } from '../../src/interfaces/worker/claim-loop.ts'
import { insertEntries } from '../../src/journal/audit/store/entry-rows.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb, type Tx } from '../../src/platform/db/pool.ts'
import { type Statement, statement } from '../../src/platform/db/statement.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { readConfig } from '../../src/platform/ground/config/config.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { makeLog } from '../../src/platform/ground/log.ts'
import { workBench } from './work.ts'

const plainTable = 'create table if not exists bench_plain_entries (like audit_entries including all)'

type Params = typeof insertEntries extends Statement<infer P, never> ? P : never

/** Inserts the same row without queueing it for the chain. */
const insertPlain = statement<Params>(
  'bench.insert_plain_entries',
  `insert into bench_plain_entries (org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address,
     user_agent, created_at, signature)
   select org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address, user_agent, created_at,
     signature
   from unnest(:orgIds::text[], :ids::text[], :actors::text[], :actions::text[], :resourceTypes::text[],
     :resourceIds::text[], :metadata::jsonb[], :ips::text[], :userAgents::text[], :at::timestamptz[],
     :signatures::text[])
     as entry (org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address, user_agent,
       created_at, signature)`,
)

const withoutChain = (tx: Tx): Tx => ({
  ...tx,
  change: (given, ...params) =>
    given.name === insertEntries.name ? tx.change(insertPlain, params[0] as Params) : tx.change(given, ...params),
})

workBench(async ({ databaseUrl, chained }: { databaseUrl: string; chained: boolean }) => {
  const log = makeLog({ level: 'info', format: 'json', destination: '/dev/null' })
  const db = openDb({ url: databaseUrl, log, poolSize: 1 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  const client = await db.connect()
  await client.query(plainTable).finally(() => client.end())
  await db.close()

  const orgId = newId('org')
  // One connection per writer, so that all of them can have an open transaction at the same time.
  const env = { PORT: '0', DATABASE_POOL_SIZE: '110', AUDIT_SIGNING_SECRET: 'bench' }
  const service = await build({ ...readConfig(env), masterKey: randomBytes(32) }, databaseUrl, log)
  const { audit } = service.modules
  const linking = makePassLoop({ name: 'audit chain', log, pass: service.chain.link })
  if (chained) linking.start()
  return {
    one: (n) =>
      service.db.tx((tx) =>
        audit(chained ? tx : withoutChain(tx), {
          orgId,
          action: 'suppression.added',
          resourceType: 'suppression',
          resourceId: newId('suppression'),
          actor: { kind: 'key', keyId: `key_${n}`, ip: '127.0.0.1', userAgent: 'bench' },
          metadata: { channel: 'email', value: `user${n}@example.com`, reason: 'manual' },
        }),
      ),
    ...(chained && {
      settle: async () => {
        await service.chain.link()
      },
    }),
    close: async () => {
      await linking.drain()
      await service.stop()
    },
  }
})
