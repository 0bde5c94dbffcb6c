/** Export jobs as their owner sees them: asking for one, following it, and the file. */
import type { Readable } from 'node:stream'
import type { Audit, UserActor } from '../../journal/audit/append.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Keyset } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { dayMs } from '../../platform/ground/units.ts'
import type { ByteRange, ObjectStore } from '../../providers/objects/object-store.ts'
import { tooManyExports } from './export-limits.ts'
import {
  type ExportJobRow,
  findExportJob,
  findUnfinishedJob,
  insertExportJob,
  listExportJobs,
  oldestOfNewest,
} from './store/export-job-rows.ts'

const mostPerDay = 5

/** A complete file. Its content never changes, so the id of its job names it. */
type ExportFile = {
  size: number
  completedAt: Date
  /** Begins to read. The file can be gone by then. */
  open(range?: ByteRange): Promise<Readable>
}

type Needs = { db: Db; clock: Clock; log: Log; audit: Audit; store: ObjectStore }

export const makeExportJobs = ({ db, clock, log, audit, store }: Needs) => {
  const read = (orgId: string, id: string): Promise<ExportJobRow> => orNotFound(db.row(findExportJob, { orgId, id }))

  const insert = (orgId: string, actor: UserActor): Promise<ExportJobRow | undefined> =>
    db.tx(async (tx) => {
      const at = clock.now()
      const job = await tx.row(insertExportJob, {
        orgId,
        id: newId('exportJob', at.getTime()),
        userId: actor.userId,
        at,
        since: new Date(at.getTime() - dayMs),
        most: mostPerDay,
      })
      if (!job) return undefined
      const metadata = { mode: 'job', job_id: job.id }
      await audit(tx, { orgId, actor, action: 'org.exported', resourceType: 'export', resourceId: job.id, metadata })
      return job
    })

  const fromStore = async <T>(work: () => Promise<T | undefined>): Promise<T> => {
    const found = await work().catch((error: unknown) => {
      log.error({ err: error }, 'export file not readable')
      return undefined
    })
    if (found === undefined) throw new Failure('EXPORT_UNAVAILABLE')
    return found
  }

  return {
    /** Returns the unfinished job of the org if there is one. */
    request: async (orgId: string, actor: UserActor) => {
      const job = (await insert(orgId, actor)) ?? (await db.row(findUnfinishedJob, { orgId }))
      if (job) return job
      const oldest = await db.row(oldestOfNewest, { orgId, jobs: mostPerDay })
      const wait = oldest ? oldest.created_at.getTime() + dayMs - clock.millis() : 0
      // Without such a job, another request began one in between, and it is done already.
      throw tooManyExports(Math.max(1_000, wait))
    },
    read,
    list: (orgId: string, page: Keyset) => db.rows(listExportJobs, { orgId, ...page }),
    file: async (orgId: string, id: string): Promise<ExportFile> => {
      const { status, file, size_bytes: size, completed_at, expires_at } = await read(orgId, id)
      if (status === 'expired') throw new Failure('EXPORT_EXPIRED')
      if (status !== 'completed' || file === null || completed_at === null) throw new Failure('EXPORT_NOT_READY')
      // The task that deletes files runs once a night.
      if (expires_at !== null && expires_at <= clock.now()) throw new Failure('EXPORT_EXPIRED')
      const stored = await fromStore(() => store.sizeOf(file))
      if (stored !== size) {
        log.error({ org_id: orgId, job_id: id, size, stored }, 'export file has another size')
        throw new Failure('EXPORT_UNAVAILABLE')
      }
      return { size, completedAt: completed_at, open: (range) => fromStore(() => store.read(file, range)) }
    },
  }
}

export type ExportJobs = ReturnType<typeof makeExportJobs>
