/** The whole service with a key and a session, to compare reads of one row. */
import { makeCreateOrg } from '../../src/app/operator/create-org.ts'
import { build } from '../../src/app/wiring/build.ts'
import { findOrg, setPlan } from '../../src/customers/orgs/store.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { statement } from '../../src/platform/db/statement.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { readConfig } from '../../src/platform/ground/config/config.ts'
import { makeVault } from '../../src/platform/ground/crypto.ts'
import { makeLog } from '../../src/platform/ground/log.ts'
import { serveBench } from './serve.ts'
import { openSession } from './session.ts'

const anyProject = statement<{ orgId: string }, { id: string }>(
  'bench.any_project',
  'select id from projects where org_id = :orgId limit 1',
)

serveBench(async ({ databaseUrl }: { databaseUrl: string }) => {
  const log = makeLog({ level: 'info', format: 'json', destination: '/dev/null' })
  const masterKey = Buffer.alloc(32)
  const config = { ...readConfig({ PORT: '0' }), masterKey }
  const db = openDb({ url: databaseUrl, log, poolSize: 1 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  const service = await build(config, databaseUrl, log)
  const url = await service.startApi()
  const { serviceDomain } = config
  const { create } = makeCreateOrg({ db, clock: systemClock, baseUrl: url, serviceDomain, vault: makeVault(masterKey) })
  const { org, keys } = await create({ name: 'Bench', plan: 'enterprise', withSenders: false })
  const orgId = org.id
  const at = systemClock.now()
  await db.row(setPlan, { orgId, plan: 'enterprise', rate: 1_000_000_000, email: null, sms: null, at })
  const owner = await db.row(findOrg, { orgId })
  const project = await db.row(anyProject, { orgId })
  await db.close()
  const session = await openSession(service, owner?.owner_user_id as string)
  const ready = { port: Number(new URL(url).port), key: keys.live, session, projectId: project?.id as string }
  return { ready, close: service.stop }
})
