/** Runs `usage.reserve`, which every send calls before its handover, for one org or for many. */
import { randomBytes } from 'node:crypto'
import { build } from '../../src/app/wiring/build.ts'
import { insertOrg, setPlan } from '../../src/customers/orgs/store.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { readConfig } from '../../src/platform/ground/config/config.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { makeLog } from '../../src/platform/ground/log.ts'
import { workBench } from './work.ts'

workBench(async ({ databaseUrl, orgs }: { databaseUrl: string; orgs: number }) => {
  const log = makeLog({ level: 'info', format: 'json', destination: '/dev/null' })
  const db = openDb({ url: databaseUrl, log, poolSize: 1 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  const senders: { orgId: string; keyId: string }[] = []
  for (let i = 0; i < orgs; i++) {
    const orgId = newId('org')
    const at = systemClock.now()
    await db.row(insertOrg, { id: orgId, name: 'Bench', slug: orgId, plan: 'enterprise', at })
    // A quota that is checked but never reached.
    await db.row(setPlan, { orgId, plan: 'enterprise', rate: null, email: 1e12, sms: 1e12, at })
    senders.push({ orgId, keyId: newId('key') })
  }
  await db.close()

  const service = await build({ ...readConfig({ PORT: '0' }), masterKey: randomBytes(32) }, databaseUrl, log)
  const { usage } = service.modules
  return {
    one: async (client) => {
      const sender = senders[client % senders.length]!
      await usage.reserve({
        ...sender,
        tenantId: null,
        environment: 'live',
        channel: 'sms',
        units: 1,
        segments: 1,
        costMicros: 6_500,
      })
    },
    close: service.stop,
  }
})
