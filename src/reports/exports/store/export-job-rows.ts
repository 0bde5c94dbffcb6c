/** Export jobs. */
import { columns, number, oneOf, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type Keyset, newestPage } from '../../../platform/ground/cursor.ts'

const jobColumns = columns({
  org_id: text,
  id: text,
  status: oneOf<'queued' | 'running' | 'completed' | 'failed' | 'expired'>(),
  requested_by: text.orNull,
  created_at: time,
  completed_at: time.orNull,
  expires_at: time.orNull,
  rows: number,
  size_bytes: number,
  rows_expected: number.orNull,
  error: text.orNull,
  file: text.orNull,
  claim: text.orNull,
  attempts: number,
})

export type ExportJobRow = RowOf<typeof jobColumns>

/** Returns no row while the org has an unfinished job, and when it has begun `most` jobs since that time. */
export const insertExportJob = statement<
  { orgId: string; id: string; userId: string; at: Date; since: Date; most: number },
  ExportJobRow
>(
  'exports.insert_job',
  `insert into export_jobs (org_id, id, status, requested_by, created_at, due_at)
   select :orgId, :id, 'queued', :userId, :at::timestamptz, :at::timestamptz
   where (select count(*) from export_jobs where org_id = :orgId and created_at > :since) < :most
   on conflict (org_id) where status in ('queued', 'running') do nothing
   returning ${jobColumns}`,
)

export const findUnfinishedJob = statement<{ orgId: string }, ExportJobRow>(
  'exports.find_unfinished_job',
  `select ${jobColumns} from export_jobs where org_id = :orgId and status in ('queued', 'running')`,
)

/** When the oldest of the newest jobs was begun. */
export const oldestOfNewest = statement<{ orgId: string; jobs: number }, { created_at: Date }>(
  'exports.oldest_of_newest',
  `select created_at from export_jobs where org_id = :orgId
   order by created_at desc
   offset :jobs - 1 limit 1`,
)

export const findExportJob = statement<{ orgId: string; id: string }, ExportJobRow>(
  'exports.find_job',
  `select ${jobColumns} from export_jobs where org_id = :orgId and id = :id`,
)

export const listExportJobs = statement<{ orgId: string } & Keyset, ExportJobRow>(
  'exports.list_jobs',
  `select ${jobColumns} from export_jobs
   where org_id = :orgId ${newestPage}`,
)

/** Takes the job that has been due for longest, also one whose worker has died. */
export const claimExportJob = statement<{ claim: string; now: Date; until: Date }, ExportJobRow>(
  'exports.claim_job',
  `update export_jobs set status = 'running', claim = :claim, due_at = :until, attempts = attempts + 1, rows = 0,
     size_bytes = 0
   where (org_id, id) = (
     select org_id, id from export_jobs
     where due_at <= :now
     order by due_at
     limit 1
     for update skip locked
   )
   returning ${jobColumns}`,
)

export type Claimed = { orgId: string; id: string; claim: string }
const isHeld = "org_id = :orgId and id = :id and claim = :claim and status = 'running'"

/** Records progress and keeps the claim. Changes nothing if the job belongs to another worker by now. */
export const renewExportJob = statement<Claimed & { until: Date; rows: number; bytes: number }>(
  'exports.renew_job',
  `update export_jobs set due_at = :until, rows = :rows, size_bytes = :bytes
   where ${isHeld}`,
)

export const setRowsExpected = statement<Claimed & { rows: number }>(
  'exports.set_rows_expected',
  `update export_jobs set rows_expected = :rows
   where ${isHeld}`,
)

export const completeExportJob = statement<
  Claimed & { file: string; rows: number; bytes: number; at: Date; expiresAt: Date }
>(
  'exports.complete_job',
  `update export_jobs set status = 'completed', file = :file, rows = :rows, size_bytes = :bytes, completed_at = :at,
     expires_at = :expiresAt, due_at = null, claim = null
   where ${isHeld}`,
)

export const failExportJob = statement<Claimed & { error: string; at: Date }>(
  'exports.fail_job',
  `update export_jobs set status = 'failed', error = :error, completed_at = :at, due_at = null, claim = null
   where ${isHeld}`,
)

/** Another worker begins the file again. `attempts` is given because a worker that stops in order has not failed. */
export const releaseExportJob = statement<Claimed & { dueAt: Date; attempts: number }>(
  'exports.release_job',
  `update export_jobs set status = 'queued', due_at = :dueAt, claim = null, attempts = :attempts
   where ${isHeld}`,
)

type ExpiredFile = { org_id: string; id: string; file: string }

export const expiredFiles = statement<{ now: Date; limit: number }, ExpiredFile>(
  'exports.expired_files',
  `update export_jobs set status = 'expired'
   where (org_id, id) in (
     select org_id, id from export_jobs where file is not null and expires_at <= :now order by expires_at limit :limit
   )
   returning org_id, id, file`,
)

export const forgetFile = statement<{ orgId: string; id: string }>(
  'exports.forget_file',
  'update export_jobs set file = null where org_id = :orgId and id = :id',
)

export const filesOfOrg = statement<{ orgId: string; limit: number }, ExpiredFile>(
  'exports.files_of_org',
  'select org_id, id, file from export_jobs where org_id = :orgId and file is not null limit :limit',
)

/** Files that a job of this list has, out of those in the store. */
export const knownFiles = statement<{ files: string[] }, { file: string }>(
  'exports.known_files',
  `select file from export_jobs where file = any (:files::text[])`,
)

/** Ends what is under way for a deleted org. */
export const stopJobsOfOrg = statement<{ orgId: string; at: Date }>(
  'exports.stop_jobs_of_org',
  `update export_jobs set status = 'failed', error = 'The organisation was deleted.', completed_at = :at, due_at = null,
     claim = null
   where org_id = :orgId and status in ('queued', 'running')`,
)

export const deleteOldJobs = statement<{ before: Date; limit: number }>(
  'exports.delete_old_jobs',
  `delete from export_jobs
   where (org_id, id) in (
     select org_id, id from export_jobs
     where status in ('failed', 'expired') and file is null and completed_at < :before
     limit :limit
   )`,
)

/** The rows of the types that can have very many. The others do not matter for progress. */
export const countLargeTypes = statement<{ orgId: string }, { rows: number }>(
  'exports.count_large_types',
  `select (select count(*) from messages where org_id = :orgId)
     + (select count(*) from contacts where org_id = :orgId)
     + (select count(*) from suppressions where org_id = :orgId)
     + (select count(*) from inbound_messages where org_id = :orgId)
     + (select count(*) from audit_entries where org_id = :orgId) as rows`,
)
