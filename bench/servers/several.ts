/** The API as several processes of one primary, for an org without effective limits. */
import cluster from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { makeCreateOrg } from '../../src/app/operator/create-org.ts'
import { setPlan } from '../../src/customers/orgs/store.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { makeVault } from '../../src/platform/ground/crypto.ts'
import { makeLog } from '../../src/platform/ground/log.ts'
import { makeSupervisor } from '../../src/platform/processes/supervise.ts'
import { serveBench } from './serve.ts'

serveBench(async ({ databaseUrl, processes }: { databaseUrl: string; processes: number }) => {
  const log = makeLog({ level: 'info', format: 'json', destination: '/dev/null' })
  const masterKey = randomBytes(32)
  const db = openDb({ url: databaseUrl, log, poolSize: 1 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  Object.assign(process.env, {
    PORT: '0',
    AUDIT_SIGNING_SECRET: 'bench',
    MASTER_KEY: masterKey.toString('base64'),
    LOG_LEVEL: 'info',
  })
  cluster.setupPrimary({
    exec: fileURLToPath(new URL('../../src/main.ts', import.meta.url)),
    args: ['api'],
    execArgv: process.execArgv,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const supervisor = makeSupervisor({ plan: { api: processes, worker: 0 }, databaseUrl, drainDelayMs: 0, log })
  if (!(await supervisor.start())) throw new Error('a process could not start')
  const port = supervisor.port() ?? 0
  const { create } = makeCreateOrg({
    db,
    clock: systemClock,
    baseUrl: `http://127.0.0.1:${port}`,
    serviceDomain: 'tidings.test',
    vault: makeVault(masterKey),
  })
  const { org, keys } = await create({ name: 'Bench', plan: 'enterprise', withSenders: true })
  const at = systemClock.now()
  await db.row(setPlan, { orgId: org.id, plan: 'enterprise', rate: 1_000_000_000, email: 1e12, sms: 1e12, at })
  await db.close()
  return {
    ready: { port, key: keys.live },
    close: async () => {
      supervisor.stop('stop now')
      await supervisor.ended()
    },
  }
})
