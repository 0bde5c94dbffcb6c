/** The whole service with a session of the owner of an org whose messages had many events. */
import { build } from '../../src/app/wiring/build.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { makeRollUp } from '../../src/reports/analytics/roll-up.ts'
import { fill, fillOnce } from './filled.ts'
import { serveBench } from './serve.ts'
import { openSession } from './session.ts'

const kinds = ['sent', 'delivered', 'opened', 'clicked']
const perChunk = 50_000
const days = 30
const jobs = 20

/** Sends messages over the last days, and reports and rolls up the events of each. */
const fillWithEvents = async (databaseUrl: string, events: number): Promise<void> => {
  const filled = await fill(databaseUrl)
  const { ids, log } = filled
  const db = openDb({ url: databaseUrl, log, poolSize: 1 })
  const rollUp = makeRollUp({ db, clock: systemClock })
  const client = await db.connect()
  await client.query('set statement_timeout = 0')
  const total = Math.ceil(events / kinds.length)
  while (ids.length < total) {
    const from = ids.length
    await filled.add(Math.min(perChunk, total - from), null, { days, jobs })
    await client.query(
      `insert into analytics_queue (org_id, id, message_id, kind, at)
       select $1, kind || id, id, kind, $4 from unnest($2::text[]) as id, unnest($3::text[]) as kind`,
      [filled.orgId, ids.slice(from), kinds, new Date()],
    )
    await rollUp.run()
    process.stderr.write(`analytics: ${ids.length} of ${total} messages\n`)
  }
  await client.query('vacuum analyze')
  await client.end()
  await db.close()
  await filled.close()
}

type Params = { databaseUrl: string; events: number }

serveBench(async ({ databaseUrl, events }: Params) => {
  const { config, log, org } = await fillOnce(databaseUrl, () => fillWithEvents(databaseUrl, events))
  const service = await build(config, databaseUrl, log)
  const url = await service.startApi()
  const session = await openSession(service, org.owner_user_id)
  return { ready: { port: Number(new URL(url).port), session }, close: service.stop }
})
