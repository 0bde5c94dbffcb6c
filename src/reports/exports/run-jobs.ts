/**
 * Writes the files of export jobs. A file belongs to one claim: a worker that takes over a job begins another file, and
 * only the worker that still holds the claim can complete the job. So a completed job always has a whole file.
 */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { dayMs } from '../../platform/ground/units.ts'
import { type ObjectStore, ObjectStoreFault } from '../../providers/objects/object-store.ts'
import {
  type Claimed,
  claimExportJob,
  completeExportJob,
  countLargeTypes,
  type ExportJobRow,
  failExportJob,
  releaseExportJob,
  renewExportJob,
  setRowsExpected,
} from './store/export-job-rows.ts'
import type { WriteOrg } from './write-org.ts'

const keptDays = 7
const leaseMs = 60_000
const maxAttempts = 3
const retryMs = 30_000

type Needs = {
  db: Db
  clock: Clock
  log: Log
  store: ObjectStore
  writeOrg: WriteOrg
  /** Writes after a failed attempt. A replica may cancel a long statement; the primary does not. */
  writeAgain: WriteOrg
  /** How often progress is recorded and the claim is kept. */
  renewMs?: number
}

class InterruptedFault extends Error {}

const reasonOf = (fault: ObjectStoreFault): string =>
  fault.full
    ? 'The export store is full. Free some space and start another export.'
    : 'The export store could not be reached. Start another export when it is back.'

export const makeRunExports = (needs: Needs) => {
  const { db, clock, log, store, writeOrg, writeAgain, renewMs = 5_000 } = needs
  const stopping = new AbortController()
  const leaseEnd = (): Date => new Date(clock.millis() + leaseMs)

  const write = async (job: ExportJobRow, claimed: Claimed): Promise<void> => {
    const { orgId, id, claim } = claimed
    const file = `${orgId}/${id}/${claim}.ndjson`
    const written = { rows: 0, bytes: 0 }
    let stop: Error | undefined
    const renew = async (): Promise<void> => {
      const kept = await db.change(renewExportJob, { ...claimed, until: leaseEnd(), ...written })
      if (kept === 0) stop = new InterruptedFault('the job belongs to another worker')
    }
    const timer = setInterval(
      () => void renew().catch((error) => log.warn({ err: error }, 'export not renewed')),
      renewMs,
    )
    async function* content(): AsyncGenerator<Buffer> {
      const rowsWritten = (count: number): void => {
        written.rows += count
      }
      const parts = job.attempts > 1 ? writeAgain(orgId, { rowsWritten }) : writeOrg(orgId, { rowsWritten })
      for await (const chunk of parts) {
        if (stopping.signal.aborted) throw new InterruptedFault('the worker stops')
        if (stop) throw stop
        written.bytes += chunk.length
        yield chunk
      }
    }
    try {
      await store.write(file, content())
    } finally {
      clearInterval(timer)
    }
    const at = clock.now()
    const expiresAt = new Date(at.getTime() + keptDays * dayMs)
    const completed = await db.change(completeExportJob, { ...claimed, file, ...written, at, expiresAt })
    if (completed === 0) await store.remove(file)
    else log.info({ org_id: orgId, job_id: id, ...written, attempts: job.attempts }, 'export completed')
  }

  const countRows = async (claimed: Claimed): Promise<void> => {
    const counted = await db.row(countLargeTypes, { orgId: claimed.orgId })
    await db.change(setRowsExpected, { ...claimed, rows: counted?.rows ?? 0 })
  }

  const end = async (job: ExportJobRow, claimed: Claimed, error: unknown) => {
    if (error instanceof ObjectStoreFault) {
      await db.change(failExportJob, { ...claimed, error: reasonOf(error), at: clock.now() })
    } else if (error instanceof InterruptedFault) {
      await db.change(releaseExportJob, { ...claimed, dueAt: clock.now(), attempts: job.attempts - 1 })
      return
    } else if (job.attempts >= maxAttempts) {
      const reason = 'The export failed. Start another one, and contact support if it fails again.'
      await db.change(failExportJob, { ...claimed, error: reason, at: clock.now() })
    } else {
      const dueAt = new Date(clock.millis() + retryMs)
      await db.change(releaseExportJob, { ...claimed, dueAt, attempts: job.attempts })
    }
    log.error({ err: error, org_id: claimed.orgId, job_id: claimed.id, attempts: job.attempts }, 'export failed')
  }

  return {
    /** Claims at most one job. */
    claim: async () => {
      if (stopping.signal.aborted) return []
      const job = await db.row(claimExportJob, { claim: newId('request'), now: clock.now(), until: leaseEnd() })
      return job ? [job] : []
    },
    work: async (job: ExportJobRow) => {
      const claimed = { orgId: job.org_id, id: job.id, claim: job.claim as string }
      // Its last worker was killed before it could say so.
      if (job.attempts > maxAttempts) {
        const error = `The export was interrupted ${maxAttempts} times. Start another one.`
        await db.change(failExportJob, { ...claimed, error, at: clock.now() })
        return
      }
      try {
        await countRows(claimed)
        await write(job, claimed)
      } catch (error) {
        await end(job, claimed, error)
      }
    },
    /** Stops the job that is being written. Another worker begins it again. */
    interrupt: () => stopping.abort(),
  }
}
