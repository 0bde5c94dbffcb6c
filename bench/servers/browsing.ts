/** The whole service with a session of the owner of an org that has many messages or many audit entries. */
import { build } from '../../src/app/wiring/build.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { statement } from '../../src/platform/db/statement.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { benchConfig, fill } from './filled.ts'
import { serveBench } from './serve.ts'
import { openSession } from './session.ts'

type Params = { databaseUrl: string; messages: number; entries: number }

const findFilled = statement<object, { id: string; owner_user_id: string }>(
  'bench.find_filled',
  'select id, owner_user_id from orgs limit 1',
)

type Service = Awaited<ReturnType<typeof build>>

const perTransaction = 1_000

const addEntries = async ({ db, chain, modules }: Service, orgId: string, count: number): Promise<void> => {
  const actor = { kind: 'key', keyId: 'key_bench', ip: '127.0.0.1', userAgent: 'bench' } as const
  const entry = () => ({
    orgId,
    actor,
    action: 'suppression.added' as const,
    resourceType: 'suppression',
    resourceId: newId('suppression'),
    metadata: { channel: 'email', reason: 'manual' },
  })
  for (let made = 0; made < count; made += perTransaction) {
    await db.tx((tx) => modules.audit(tx, ...Array.from({ length: perTransaction }, entry)))
    await chain.link()
  }
}

/** Contenders of the same size share a database. The first one fills it. */
serveBench(async ({ databaseUrl, messages, entries }: Params) => {
  const { config, log } = benchConfig()
  const db = openDb({ url: databaseUrl, log, poolSize: 1 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  const known = await db.row(findFilled)
  if (!known) {
    const filled = await fill(databaseUrl)
    await filled.add(messages, null)
    await filled.close()
  }
  const service = await build(config, databaseUrl, log)
  const org = await db.row(findFilled)
  if (!org) throw new Error('the database has no org')
  if (!known && entries > 0) {
    await addEntries(service, org.id, entries)
    const client = await db.connect()
    await client.query('vacuum analyze').finally(() => client.end())
  }
  await db.close()
  const url = await service.startApi()
  const session = await openSession(service, org.owner_user_id)
  return { ready: { port: Number(new URL(url).port), session }, close: service.stop }
})
