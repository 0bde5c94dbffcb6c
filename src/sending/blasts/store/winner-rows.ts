/** The choice of the best subject, and the messages that wait for it. */
import { statement } from '../../../platform/db/statement.ts'
import type { JobWinner } from '../shapes.ts'

export type WaitingJob = { org_id: string; id: string; winner: JobWinner }

/** Jobs whose best subject is due to be chosen. */
export const listUndecided = statement<{ now: Date; limit: number }, WaitingJob>(
  'blasts.list_undecided',
  `select j.org_id, j.id, j.winner
   from jobs j
   where j.status in ('scheduled', 'running') and j.winner ->> 'decided_at' is null
     and (j.winner ->> 'decides_at')::timestamptz <= :now
   limit :limit`,
)

/** Of each variant: the messages that were sent, and those with at least one event of the kind. */
export const countReactions = statement<
  { orgId: string; jobId: string; kind: string },
  { variant: string; sent: number; reacted: number }
>(
  'blasts.count_reactions',
  `select m.metadata ->> 'subject_variant' as variant, count(*)::int as sent,
     count(*) filter (where exists (
       select from message_events e where e.org_id = m.org_id and e.message_id = m.id and e.kind = :kind
     ))::int as reacted
   from messages m
   where m.org_id = :orgId and m.job_id = :jobId and m.sent_at is not null
     and m.metadata ->> 'subject_variant' is not null
   group by 1`,
)

/** Records the choice once, and only while the job runs. */
export const markDecided = statement<{ orgId: string; id: string; variant: string; decidedAt: string }, { id: string }>(
  'blasts.decide_winner',
  `update jobs set winner = winner || jsonb_build_object('variant', :variant::text, 'decided_at', :decidedAt::text)
   where org_id = :orgId and id = :id and status in ('scheduled', 'running') and winner ->> 'decided_at' is null
   returning id`,
)

/** Gives the waiting messages their subject and makes them due. */
export const releaseWaiting = statement<{ orgId: string; jobId: string; index: number; variant: string; at: Date }>(
  'blasts.release_waiting',
  `with chosen as (
     delete from job_subjects where org_id = :orgId and job_id = :jobId
     returning message_id, created_at, subjects[:index::int] as subject
   )
   update messages m set subject = c.subject, due_at = greatest(m.scheduled_at, :at),
     metadata = coalesce(m.metadata, '{}') || jsonb_build_object('subject_variant', :variant::text)
   from chosen c
   where m.org_id = :orgId and m.id = c.message_id and m.created_at = c.created_at and m.status = 'scheduled'`,
)

export const findPossibleSubjects = statement<
  { orgId: string; jobIds: string[]; messageIds: string[] },
  { message_id: string; subjects: string[] }
>(
  'blasts.find_possible_subjects',
  `select message_id, subjects from job_subjects
   where org_id = :orgId and (job_id, message_id) in (
     select job_id, message_id from unnest(:jobIds::text[], :messageIds::text[]) as m (job_id, message_id))`,
)

export const dropWaiting = statement<{ orgId: string; jobId: string }>(
  'blasts.drop_waiting',
  'delete from job_subjects where org_id = :orgId and job_id = :jobId',
)

export const eraseTenantSubjects = statement<{ orgId: string; tenantId: string; limit: number }>(
  'blasts.erase_tenant_subjects',
  `delete from job_subjects where (org_id, job_id, message_id) in (
     select org_id, job_id, message_id from job_subjects where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)
