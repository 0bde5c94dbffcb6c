import { columns, number, oneOf, type RowOf, text, time } from '../../platform/db/columns.ts'
import type { Lists } from '../../platform/db/lists.ts'
import { statement } from '../../platform/db/statement.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import type { Environment, Scope } from '../../platform/ground/scope.ts'
import type { Denial } from './shapes.ts'

export const newVerificationColumns = columns({
  org_id: text,
  id: text,
  tenant_id: text.orNull,
  environment: oneOf<Environment>(),
  project_id: text,
  channel: oneOf<Channel>(),
  destination: text,
  code_hash: text,
  max_attempts: number,
  dlt_template_id: text.orNull,
  created_at: time,
  expires_at: time,
})

export type NewVerification = RowOf<typeof newVerificationColumns>

/**
 * The reservation of usage before it in the transaction commits without waiting for the disk. That would lose a code that
 * was sent, so this sets it back.
 */
export const insertVerifications = statement<Lists<NewVerification>>(
  'verifications.insert',
  `with durable as materialized (select set_config('synchronous_commit', 'on', true))
   insert into verifications (${newVerificationColumns})
   select ${newVerificationColumns}
   from unnest(:org_id::text[], :id::text[], :tenant_id::text[], :environment::text[], :project_id::text[],
       :channel::text[], :destination::text[], :code_hash::text[], :max_attempts::int[], :dlt_template_id::text[],
       :created_at::timestamptz[], :expires_at::timestamptz[])
     as row (${newVerificationColumns}), durable`,
)

/**
 * Takes up a verification whose request was interrupted before its response. Its code is sent again, so an expired one
 * gets a new end.
 */
export const resumeVerification = statement<
  { orgId: string; id: string; codeHash: string; now: Date; renewedUntil: Date },
  { expires_at: Date }
>(
  'verifications.resume',
  `update verifications set code_hash = :codeHash,
     expires_at = case when expires_at <= :now then :renewedUntil else expires_at end
   where org_id = :orgId and id = :id
   returning expires_at`,
)

/** A code that was not sent cannot be checked. */
export const deleteVerification = statement<{ orgId: string; id: string }>(
  'verifications.delete',
  'delete from verifications where org_id = :orgId and id = :id',
)

/** Whether the code is right, in the same time for a right and a wrong one: counts the bits in which digests differ. */
const matches = (hash: string): string => `bit_count(('x' || ${hash})::bit(256) # ('x' || v.code_hash)::bit(256)) = 0`
const isRight = `(${matches('g.hash')} or (g.previous_hashes <> '{}' and exists (
         select 1 from unnest(g.previous_hashes::text[]) as previous (hash) where ${matches('previous.hash')})))`

/** The row of a guess, if the key may see it. */
const ofGuess = `v.org_id = g.org_id and v.id = g.id
       and (g.tenant_id is null or v.tenant_id = g.tenant_id)
       and (g.project_id is null or v.project_id = g.project_id)
       and (g.environment = 'live' or v.environment = 'test')
       and v.created_at > :createdAfter`

export type Guess = Scope & {
  id: string
  hash: string
  /** The digests of the code under previous master keys, as a PostgreSQL array. */
  previousHashes: string
}

/**
 * Judges guesses and records them: a wrong guess at a pending verification spends an attempt, the right one uses it up.
 * The update decides under the lock of the row, so concurrent guesses cannot pass the cap together. `changed` means that
 * another process ended the verification at the same moment: nothing was recorded, and the guess is judged again.
 * Guesses about rows that the key cannot see return nothing. A statement has one guess per verification.
 */
export const checkCodes = statement<
  Lists<Guess> & {
    /** Older rows are about to be deleted. */
    createdAfter: Date
    at: Date
  },
  { n: number; verdict: 'approved' | Denial | 'changed' }
>(
  'verifications.check',
  `with guesses as materialized (
     select org_id, tenant_id, project_id, environment, id, hash, previous_hashes, n
     from unnest(:orgId::text[], :tenantId::text[], :projectId::text[], :environment::text[], :id::text[],
         :hash::text[], :previousHashes::text[])
       with ordinality as guess (org_id, tenant_id, project_id, environment, id, hash, previous_hashes, n)
   ), recorded as (
     update verifications v set
       attempts = v.attempts + case when ${isRight} then 0 else 1 end,
       used_at = case when ${isRight} then :at::timestamptz end
     from guesses g
     where ${ofGuess}
       and v.used_at is null and v.expires_at > :at and v.attempts < v.max_attempts
     returning g.n, v.used_at
   )
   select n::int as n, case when used_at is null then 'invalid' else 'approved' end as verdict from recorded
   union all
   select g.n::int,
     case
       when v.used_at is not null then 'not_found'
       when v.expires_at <= :at then 'expired'
       when v.attempts >= v.max_attempts then 'max_attempts'
       else 'changed'
     end
   from guesses g join verifications v on ${ofGuess}
   where not exists (select 1 from recorded r where r.n = g.n)`,
)

export const findDestination = statement<
  { orgId: string; id: string },
  { tenant_id: string | null; environment: Environment; channel: Channel; destination: string }
>(
  'verifications.find_destination',
  'select tenant_id, environment, channel, destination from verifications where org_id = :orgId and id = :id',
)

/**
 * Adds starts to windows and removes those that left them. Returns how many starts each window has now, the new ones
 * included, and when the oldest was. The rows are locked in a fixed order, so that transactions cannot deadlock.
 */
export const addStarts = statement<
  Lists<{ orgId: string; environment: string; name: string; added: number }> & { at: Date; since: Date },
  { org_id: string; environment: string; name: string; starts: number; oldest: Date }
>(
  'verifications.add_starts',
  `insert into verification_windows as w (org_id, environment, name, starts, newest_at)
   select org_id, environment, name, array_fill(:at::timestamptz, array[count]), :at
   from unnest(:orgId::text[], :environment::text[], :name::text[], :added::int[])
     as given (org_id, environment, name, count)
   order by org_id, environment, name
   on conflict (org_id, environment, name) do update set
     starts = array(select start from unnest(w.starts) as start where start > :since order by start)
       || excluded.starts,
     newest_at = excluded.newest_at
   returning w.org_id, w.environment, w.name, cardinality(w.starts) as starts, w.starts[1] as oldest`,
)

/** Keeps only the first starts of windows that had no place for all of those that were added. */
export const keepStarts = statement<Lists<{ orgId: string; environment: string; name: string; used: number }>>(
  'verifications.keep_starts',
  `with given as materialized (
     select org_id, environment, name, kept
     from unnest(:orgId::text[], :environment::text[], :name::text[], :used::int[])
       as given (org_id, environment, name, kept)
   ), emptied as (
     delete from verification_windows w using given
     where w.org_id = given.org_id and w.environment = given.environment and w.name = given.name and given.kept = 0
   )
   update verification_windows w set starts = w.starts[1 : given.kept], newest_at = w.starts[given.kept]
   from given
   where w.org_id = given.org_id and w.environment = given.environment and w.name = given.name and given.kept > 0`,
)

export const sweepVerifications = statement<{ before: Date; limit: number }>(
  'verifications.sweep',
  `delete from verifications where (org_id, id) in (
     select org_id, id from verifications where created_at <= :before limit :limit)`,
)

export const sweepWindows = statement<{ before: Date; limit: number }>(
  'verifications.sweep_windows',
  `delete from verification_windows where (org_id, environment, name) in (
     select org_id, environment, name from verification_windows where newest_at <= :before limit :limit
     for update skip locked)`,
)

export const eraseTenantVerifications = statement<{ orgId: string; tenantId: string; limit: number }>(
  'verifications.erase_tenant',
  `delete from verifications where (org_id, id) in (
     select org_id, id from verifications where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)
