/** Deletes export files seven days after their completion, and what interrupted exports left behind. */
import { inChunks } from '../../platform/db/in-chunks.ts'
import type { Db } from '../../platform/db/pool.ts'
import { type Clock, systemClock } from '../../platform/ground/clock.ts'
import { timeOfId } from '../../platform/ground/ids.ts'
import { dayMs } from '../../platform/ground/units.ts'
import type { ObjectStore } from '../../providers/objects/object-store.ts'
import { deleteOldJobs, expiredFiles, filesOfOrg, forgetFile, knownFiles } from './store/export-job-rows.ts'

const chunk = 5_000
const keptJobDays = 90

/** `org/job/claim.ndjson`: a claim is an id, so it has a time. */
const claimOf = (file: string): string => file.split('/').at(-1)?.split('.', 1)[0] ?? ''

export const makeExportRetention = ({ db, clock, store }: { db: Db; clock: Clock; store: ObjectStore }) => {
  /**
   * A row forgets its file only when the file is gone, so the next run takes up what this one could not delete. Returns
   * the number of files.
   */
  const removeFiles = async (files: { org_id: string; id: string; file: string }[]): Promise<number> => {
    for (const { org_id: orgId, id, file } of files) {
      await store.remove(file)
      await db.change(forgetFile, { orgId, id })
    }
    return files.length
  }

  const removeExpired = (): Promise<number> =>
    inChunks(chunk, async () => removeFiles(await db.rows(expiredFiles, { now: clock.now(), limit: chunk })))

  /** A worker that dies between the end of its file and the completion of its job leaves a file of no job. */
  const removeStray = async (): Promise<number> => {
    const before = systemClock.millis() - dayMs
    let removed = 0
    let page: string[] = []
    const removePage = async (): Promise<void> => {
      const known = new Set((await db.rows(knownFiles, { files: page })).map(({ file }) => file))
      for (const name of page.filter((file) => !known.has(file))) {
        await store.remove(name)
        removed++
      }
      page = []
    }
    for await (const name of store.list('org_')) {
      if (timeOfId(claimOf(name)) < before) page.push(name)
      if (page.length === 1_000) await removePage()
    }
    await removePage()
    return removed
  }

  return {
    /** Returns how many files were deleted. */
    sweep: async () => {
      const removed = (await removeExpired()) + (await removeStray())
      await store.removeUnfinished(new Date(systemClock.millis() - dayMs))
      const before = new Date(clock.millis() - keptJobDays * dayMs)
      await inChunks(chunk, () => db.change(deleteOldJobs, { before, limit: chunk }))
      return removed
    },
    /** Deletes the files of a deleted org. May run again. */
    removeOfOrg: async (orgId: string) => {
      await inChunks(chunk, async () => removeFiles(await db.rows(filesOfOrg, { orgId, limit: chunk })))
    },
  }
}
