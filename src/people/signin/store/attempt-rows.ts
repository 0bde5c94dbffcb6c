/** Sliding windows in the database, for limits that must hold while the store of the rate limiter is unreachable. */
import { statement, unseen } from '../../../platform/db/statement.ts'

/** One bucket is counted by one transaction at a time. */
export const lockBucket = statement<{ bucket: string }, { locked: boolean }>(
  'signin.lock_bucket',
  'select pg_advisory_xact_lock(hashtextextended(:bucket, 0)) is null as locked',
)

export const dropOldAttempts = statement<{ bucket: string; since: Date }>(
  'signin.drop_old_attempts',
  'delete from sign_in_attempts where bucket = :bucket and at <= :since',
)

export const countAttempts = statement<{ bucket: string; since: Date }, { count: number; oldest: Date | null }>(
  'signin.count_attempts',
  'select count(*)::int as count, min(at) as oldest from sign_in_attempts where bucket = :bucket and at > :since',
)

export const insertAttempt = statement<{ bucket: string; id: string; at: Date }>(
  'signin.insert_attempt',
  'insert into sign_in_attempts (bucket, id, at) values (:bucket, :id, :at)',
)

export const sweepAttempts = statement<{ before: Date }>(
  'signin.sweep_attempts',
  'delete from sign_in_attempts where at < :before',
)

/** Failed attempts are counted too. */
unseen(dropOldAttempts, insertAttempt)
