/** The whole service with its local provider, as `npm start` runs it, for an org without effective limits. */
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
