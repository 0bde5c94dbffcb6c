/** The whole service with its local provider, as `npm start` runs it, for an org without effective limits. */
import { randomBytes } from 'node:crypto'
import { migrate } from '../../src/db/migrate.ts'
import { openDb } from '../../src/db/pool.ts'
import { systemClock } from '../../src/ground/clock.ts'
import { readConfig } from '../../src/ground/config/config.ts'
import { makeVault } from '../../src/ground/crypto.ts'
import { makeLog } from '../../src/ground/log.ts'
import { makeCreateOrg } from '../../src/operator/create-org.ts'
import { setPlan } from '../../src/orgs/store.ts'
import { build } from '../../src/wiring/build.ts'
import { serveBench } from './serve.ts'

serveBench(async ({ databaseUrl, smtp }: { databaseUrl: string; smtp?: boolean }) => {
  const log = makeLog({ level: 'info', format: 'json', destination: '/dev/null' })
  const env = {
    PORT: '0',
    AUDIT_SIGNING_SECRET: 'bench',
    ...(smtp && { SMTP_SUBMISSION_PORT: '0', SMTP_MAX_CONNECTIONS_PER_ADDRESS: '100' }),
  }
  const config = { ...readConfig(env), masterKey: randomBytes(32) }
  const vault = makeVault(config.masterKey)
  const db = openDb({ url: databaseUrl, log, poolSize: 1 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  const service = await build(config, databaseUrl, log)
  const url = await service.startApi()
  const { create } = makeCreateOrg({
    db,
    clock: systemClock,
    baseUrl: url,
    serviceDomain: config.serviceDomain,
    vault,
  })
  const { org, keys } = await create({ name: 'Bench', plan: 'enterprise', withSenders: true })
  await db.row(setPlan, {
    orgId: org.id,
    plan: 'enterprise',
    rate: 1_000_000_000,
    email: 1e12,
    sms: 1e12,
    at: systemClock.now(),
  })
  await db.close()
  const ready = { port: Number(new URL(url).port), smtpPort: service.submissionPort(), key: keys.live }
  return { ready, close: service.stop }
})
