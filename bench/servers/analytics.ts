/** Reads the figures of messages after many events, or a single row. */
import { randomInt } from 'node:crypto'
import { makeReadAnalytics } from '../../src/analytics/read-analytics.ts'
import { makeRollUp } from '../../src/analytics/roll-up.ts'
import { statement } from '../../src/db/statement.ts'
import { systemClock } from '../../src/ground/clock.ts'
import { build } from '../../src/wiring/build.ts'
import { fill } from './filled.ts'
import { workBench } from './work.ts'

const kinds = ['sent', 'delivered', 'opened', 'clicked']
const perChunk = 50_000

const findStatus = statement<{ orgId: string; id: string }, { status: string }>(
  'bench.find_status',
  'select status from messages where org_id = :orgId and id = :id and created_at = time_of_id(:id)',
)

type Params = { databaseUrl: string; events: number; read: 'row' | 'days' | 'jobs' }

workBench(async ({ databaseUrl, events, read }: Params) => {
  const filled = await fill(databaseUrl)
  const { orgId, ids } = filled
  await filled.add(Math.ceil(events / kinds.length), null)
  await filled.close()
  const service = await build(filled.config, databaseUrl, filled.log)
  const { db } = service
  const rollUp = makeRollUp({ db, clock: systemClock })
  const client = await db.connect()
  await client.query('set statement_timeout = 0')
  await client.query("update messages set job_id = 'job_' || right(id, 1) where right(id, 1) < 'h'")
  for (let at = 0; at < ids.length; at += perChunk) {
    await client.query(
      `insert into analytics_queue (org_id, id, message_id, kind, at)
       select $1, kind || id, id, kind, $4 from unnest($2::text[]) as id, unnest($3::text[]) as kind`,
      [orgId, ids.slice(at, at + perChunk), kinds, new Date()],
    )
    await rollUp.run()
  }
  await client.query('vacuum analyze')
  await client.end()
  const analytics = makeReadAnalytics({ db, clock: systemClock })
  const scope = { orgId, tenantId: null, environment: 'live', projectId: null } as const
  return {
    one: async () => {
      if (read === 'row') await db.row(findStatus, { orgId, id: ids[randomInt(ids.length)] as string })
      else await analytics(scope, { days: 30, ...(read === 'jobs' && { group_by: 'job' }) })
    },
    close: service.stop,
  }
})
