/** Sends due messages while many more are scheduled: with the scheduler, or with a minimal loop that claims and updates. */
import { build } from '../../src/app/wiring/build.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { statement } from '../../src/platform/db/statement.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { fill } from './filled.ts'
import { workBench } from './work.ts'

type Params = {
  databaseUrl: string
  by: 'scheduler' | 'plain'
  waiting: number
  due: number
  perClaim: number
  /** The messages belong to a job. */
  job?: boolean
}

type Key = { org_id: string; id: string; created_at: Date }

const claimPlain = statement<{ now: Date; limit: number }, Key>(
  'bench.claim_plain',
  `update messages m set status = 'sending', claimed_at = :now
   from (select org_id, id, created_at from messages
     where status = 'scheduled' and due_at <= :now order by org_id, due_at limit :limit for update skip locked) d
   where m.org_id = d.org_id and m.id = d.id and m.created_at = d.created_at
   returning m.org_id, m.id, m.created_at`,
)

const markPlain = statement<{ orgIds: string[]; ids: string[]; createdAt: Date[]; at: Date }>(
  'bench.mark_plain',
  `update messages m set status = 'sent', sent_at = :at
   from unnest(:orgIds::text[], :ids::text[], :createdAt::timestamptz[]) as d (org_id, id, created_at)
   where m.org_id = d.org_id and m.id = d.id and m.created_at = d.created_at`,
)

const inADay = () => new Date(Date.now() + 86_400_000)

workBench(async ({ databaseUrl, by, waiting, due, perClaim, job }: Params) => {
  const filled = await fill(databaseUrl)
  await filled.add(waiting, inADay())
  await filled.add(due, new Date())
  if (job) await filled.joinToJob()
  await filled.close()

  // One pass at a time, like the worker's loop. Additional clients wait for their turn.
  let turn: Promise<void> = Promise.resolve()
  const inTurn = (pass: () => Promise<void>) => () => {
    turn = turn.then(pass)
    return turn
  }
  const failExhausted = () => {
    throw new Error('no due rows are left: the bench needs more rows')
  }
  if (by === 'plain') {
    const db = openDb({ url: databaseUrl, log: filled.log })
    return {
      one: inTurn(async () => {
        const rows = await db.rows(claimPlain, { now: systemClock.now(), limit: perClaim })
        if (rows.length === 0) failExhausted()
        const [orgIds, ids] = [rows.map((row) => row.org_id), rows.map((row) => row.id)]
        await db.change(markPlain, { orgIds, ids, createdAt: rows.map((row) => row.created_at), at: systemClock.now() })
      }),
      close: db.close,
    }
  }
  const service = await build(filled.config, databaseUrl, filled.log)
  const { scheduler } = service.modules.messages
  return {
    one: inTurn(async () => {
      const rows = await scheduler.claim(perClaim)
      if (rows.length === 0) failExhausted()
      await Promise.all(rows.map(scheduler.fire))
    }),
    close: service.stop,
  }
})
