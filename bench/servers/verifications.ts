/** The whole service with its local provider and an org without effective limits, for starting and checking codes. */
import { randomBytes } from 'node:crypto'
import { makeCreateOrg } from '../../src/app/operator/create-org.ts'
import { build } from '../../src/app/wiring/build.ts'
import { setPlan } from '../../src/customers/orgs/store.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { readConfig } from '../../src/platform/ground/config/config.ts'
import { makeVault } from '../../src/platform/ground/crypto.ts'
import { makeLog } from '../../src/platform/ground/log.ts'
import { idStart } from '../verifications/verification-ids.ts'
import { serveBench } from './serve.ts'

/** Codes that nobody guesses. A check spends an attempt of its own row, which costs as much as an approval. */
const fillTable = `
  insert into verifications (org_id, id, environment, project_id, channel, destination, code_hash, max_attempts,
    created_at, expires_at)
  select $1, $2 || lpad(n::text, 12, '0'), 'live', '', 'sms', '+447700900100', repeat('0', 64), 5, $3::timestamptz,
    $3::timestamptz + interval '1 day'
  from generate_series(0, $4::int - 1) n`

serveBench(async ({ databaseUrl, rows }: { databaseUrl: string; rows: number }) => {
  const log = makeLog({ level: 'info', format: 'json', destination: '/dev/null' })
  const config = { ...readConfig({ PORT: '0', AUDIT_SIGNING_SECRET: 'bench' }), masterKey: randomBytes(32) }
  const db = openDb({ url: databaseUrl, log, poolSize: 1 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  // An hour's ceiling would stop the run after 1,000 codes. In 100 ms there are about as many as in a busy hour.
  const service = await build(config, databaseUrl, log, { verificationWindowMs: 100 })
  const url = await service.startApi()
  const { serviceDomain, masterKey } = config
  const vault = makeVault(masterKey)
  const { create } = makeCreateOrg({ db, clock: systemClock, baseUrl: url, serviceDomain, vault })
  const { org, keys } = await create({ name: 'Bench', plan: 'enterprise', withSenders: true })
  const limits = { rate: 1_000_000_000, email: 1e12, sms: 1e12 }
  await db.row(setPlan, { orgId: org.id, plan: 'enterprise', ...limits, at: systemClock.now() })
  if (rows > 0) {
    const client = await db.connect()
    await client.query(fillTable, [org.id, idStart, systemClock.now(), rows])
    await client.query('vacuum analyze verifications').finally(() => client.end())
  }
  await db.close()
  return { ready: { port: Number(new URL(url).port), key: keys.live }, close: service.stop }
})
