/** Claims domains that are due for a check and records results. */
import { rememberStep } from '../../../customers/orgs/store.ts'
import type { Given } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { DkimStatus, DomainStatus } from '../shapes.ts'
import { type DomainRow, domainColumns } from './domain-rows.ts'

/**
 * Claims due domains of all orgs, the longest overdue first. The lease keeps other workers away until a result is
 * recorded. It lasts longer than any check.
 */
export const claimDueDomains = statement<{ claim: string; at: Date; leaseUntil: Date; limit: number }, DomainRow>(
  'domains.claim_due',
  `update domains set check_claim = :claim, next_check_at = :leaseUntil
   where (org_id, id) in (
     select org_id, id from domains where next_check_at <= :at
     order by next_check_at limit :limit for update skip locked)
   returning ${domainColumns}`,
)

/** Claims one domain for a requested check. It replaces the claim of a check that is under way elsewhere. */
export const claimDomain = statement<{ orgId: string; id: string; claim: string; leaseUntil: Date }, DomainRow>(
  'domains.claim_one',
  `update domains set check_claim = :claim,
     next_check_at = case when dkim_status = 'IDENTITY_NOT_FOUND' then null else :leaseUntil::timestamptz end
   where org_id = :orgId and id = :id
   returning ${domainColumns}`,
)

export type RecordedCheck = DomainRow & { status_before: DomainStatus }

/** Records the result of the check that holds the claim, once. Returns no row when the claim was replaced. */
export const recordCheck = statement<
  Given<DomainRow, 'org_id' | 'id' | 'status' | 'dkim_status' | 'temporary_failures'> & {
    claim: string
    recordStatuses: string
    nextCheckAt: Date | null
    at: Date
  },
  RecordedCheck
>(
  'domains.record_check',
  `with held as (
     select org_id as held_org, id as held_id, status as status_before from domains
     where org_id = :orgId and id = :id and check_claim = :claim for update
   ), remembered as (
     ${rememberStep('verify_domain', `:status = 'verified' and exists (select from held)`)}
   )
   update domains
   set status = :status, dkim_status = :dkimStatus, record_statuses = record_statuses || :recordStatuses::jsonb,
     temporary_failures = :temporaryFailures, next_check_at = :nextCheckAt, check_claim = null, last_checked_at = :at,
     verified_at = case
       when :status <> 'verified' then null when status_before = 'verified' then verified_at else :at end,
     waiting_since = case
       when :status = 'verified' then null when status_before = 'verified' then :at else waiting_since end,
     updated_at = case when status_before <> :status or dkim_status <> :dkimStatus then :at else updated_at end
   from held
   where org_id = held_org and id = held_id
   returning ${domainColumns}, status_before`,
)

/** For the dev tools, which know the domain id but not the org. The next check is due immediately. */
export const simulateDomain = statement<{ id: string; status: DkimStatus; at: Date }, { org_id: string }>(
  'domains.simulate',
  `update domains set simulated_status = :status,
     next_check_at = case when dkim_status = 'IDENTITY_NOT_FOUND' then null else :at::timestamptz end
   where id = :id
   returning org_id`,
)
