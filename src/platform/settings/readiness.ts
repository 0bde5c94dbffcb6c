/** Whether the service can handle requests: its database accepts writes, the worker of this process runs, and it does not stop. */
import { isOutage } from '../db/faults.ts'
import type { Db } from '../db/pool.ts'
import type { RefusedWrites } from '../db/refused-writes.ts'
import type { Clock } from '../ground/clock.ts'
import { withDeadline } from '../ground/with-deadline.ts'
import { writeSetting } from './store.ts'

type Needs = {
  db: Db
  clock: Clock
  refusedWrites: RefusedWrites
  workerRuns: () => boolean
  stopping: () => boolean
}

/** Anyone may ask, so a result is shared for this long. */
const sharedMs = 500
/** Nobody waits longer for a probe, and after this time another one may start: its connection may be dead. */
const waitMs = 5_000

/**
 * A megabyte in a table that exists until the end of its statement. A change of a row that exists may fit into the space
 * that the database already has; a new table always takes more. Its tablespace is the one of the database.
 */
const roomStatements = [
  "set temp_tablespaces = ''",
  `create temporary table room on commit drop as
     select repeat('x', 1000) as filler from generate_series(1, 1000)`,
]

/** Throws if the server has no room. A connection of its own, because a pool may be full of statements that wait. */
const probeRoom = async ({ connect }: Db): Promise<void> => {
  const client = await connect()
  try {
    for (const text of roomStatements) await client.query(text)
  } finally {
    await client.end().catch(() => undefined)
  }
}

type Probe = { startedAt: number; endedAt: number | undefined; result: Promise<void> }

/**
 * Throws when the service is not ready. A read would succeed on a standby, so it writes one row. That row fits on a full
 * disk, where sends fail: once a write was refused for want of room, a probe that takes room decides until it succeeds.
 */
export const makeReadiness = (needs: Needs): (() => Promise<void>) => {
  const { db, clock, refusedWrites, workerRuns, stopping } = needs
  let latest: Probe | undefined

  const probe = async (): Promise<void> => {
    const refused = refusedWrites.total()
    await db.change(writeSetting, { name: 'readiness_probe', value: JSON.stringify(clock.now()), at: clock.now() })
    if (!refusedWrites.any()) return
    await probeRoom(db).catch((error) => {
      // Anything else, such as a role that must not create temporary tables, says nothing about room.
      if (isOutage(error)) throw error
    })
    refusedWrites.settle(refused)
  }

  const isRecent = ({ startedAt, endedAt }: Probe, now: number): boolean =>
    endedAt === undefined ? now - startedAt < waitMs : now - endedAt < sharedMs

  const sharedProbe = (): Promise<void> => {
    const now = performance.now()
    if (latest && isRecent(latest, now)) return latest.result
    const own: Probe = { startedAt: now, endedAt: undefined, result: probe() }
    const end = (): void => {
      own.endedAt = performance.now()
    }
    own.result.then(end, end)
    latest = own
    return own.result
  }

  return async () => {
    if (stopping()) throw new Error('the service stops')
    if (!workerRuns()) throw new Error('the worker has not started')
    await withDeadline(waitMs, sharedProbe(), () => {
      throw new Error('the database does not answer')
    })
  }
}
