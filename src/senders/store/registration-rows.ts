/** Statements that brands, campaigns and numbers have in common: claims, retries and reports of the registry. */
import { statement } from '../../db/statement.ts'
import type { Environment } from '../../ground/scope.ts'

export const registrationStatuses = ['pending', 'verified', 'unverified', 'failed'] as const
export type RegistrationStatus = (typeof registrationStatuses)[number]

export type RegistrationRow = {
  org_id: string
  id: string
  environment: Environment
  status: RegistrationStatus
  status_reason: string | null
  provider_id: string | null
  provider_status: string | null
  verified_at: Date | null
  claimed_at: Date | null
  created_at: Date
  updated_at: Date
}

/** The columns of RegistrationRow. */
export const registrationColumns = `org_id, id, environment, status, status_reason, provider_id, provider_status,
  verified_at, claimed_at, created_at, updated_at`

export type RowKey = { orgId: string; id: string }
/** A claim is the instant at which it was made. */
export type Claim = RowKey & { claimedAt: Date }
export type AfterRow = { afterOrg: string; afterId: string; limit: number }

type Report = RowKey & {
  /** The row changes only if it is still as it was read. */
  readAt: Date
  status: RegistrationStatus
  reason: string | null
  providerStatus: string | null
  at: Date
}

type Table = {
  table: 'brands' | 'campaigns' | 'phone_numbers'
  columns: string
  /** Which rows of the table are registered. */
  only: string
}

const isOrphan = "status = 'pending' and provider_status is null"
const isFree = '(claimed_at is null or claimed_at <= :staleAt)'

const claimStatements = <R extends RegistrationRow>({ table, columns, only }: Table) => ({
  /** Claims registrations that the registry has not got, in the order of their keys. */
  claimOrphans: statement<AfterRow & { staleAt: Date; at: Date }, R>(
    `${table}.claim_orphans`,
    `update ${table} set claimed_at = :at
     where (org_id, id) in (
       select org_id, id from ${table}
       where ${isOrphan} and ${only} and ${isFree} and (org_id, id) > (:afterOrg, :afterId)
       order by org_id, id limit :limit for update skip locked)
     returning ${columns}`,
  ),
  /** Gives up registrations that were created before `createdBefore`. */
  failOrphans: statement<{ createdBefore: Date; staleAt: Date; reason: string; at: Date }, R>(
    `${table}.fail_orphans`,
    `update ${table} set status = 'failed', status_reason = :reason, claimed_at = null, updated_at = :at
     where ${isOrphan} and ${only} and ${isFree} and created_at < :createdBefore
     returning ${columns}`,
  ),
  releaseClaim: statement<Claim>(
    `${table}.release_claim`,
    `update ${table} set claimed_at = null
     where org_id = :orgId and id = :id and claimed_at = :claimedAt`,
  ),
})

export const registrationStatements = <R extends RegistrationRow>(options: Table) => {
  const { table, columns, only } = options
  return {
    ...claimStatements<R>(options),
    find: statement<RowKey, R>(`${table}.find`, `select ${columns} from ${table} where org_id = :orgId and id = :id`),
    /** For the development tools, which know the id but not the org. */
    exists: statement<{ id: string }, { id: string }>(`${table}.exists`, `select id from ${table} where id = :id`),
    /** Rows of all orgs that the registry knows, in the order of their keys. */
    listRegistered: statement<AfterRow, R>(
      `${table}.list_registered`,
      `select ${columns} from ${table}
       where (org_id, id) > (:afterOrg, :afterId) and status <> 'failed' and provider_status is not null and ${only}
       order by org_id, id
       limit :limit`,
    ),
    delete: statement<RowKey, R>(
      `${table}.delete`,
      `delete from ${table} where org_id = :orgId and id = :id returning ${columns}`,
    ),
  }
}

const reportAssignments = `status = :status, status_reason = :reason, provider_status = :providerStatus,
       verified_at = case when :status <> 'verified' then null when status = 'verified' then verified_at else :at end,
       updated_at = :at`
const asItWasRead = 'org_id = :orgId and id = :id and updated_at = :readAt'

/** Records what the registry reports about a number or a sender id. */
export const recordReportStatement = <R>({ table, columns }: Omit<Table, 'only'>) =>
  statement<Report, R>(
    `${table}.record_report`,
    `update ${table} set ${reportAssignments}
     where ${asItWasRead}
     returning ${columns}`,
  )

/** The same for brands and campaigns, which have fields. Null leaves the missing fields as they are. */
export const recordFormReportStatement = <R>({ table, columns }: Omit<Table, 'only'>) =>
  statement<Report & { missing: string[] | null }, R>(
    `${table}.record_report`,
    `update ${table} set ${reportAssignments},
       provider_missing_fields = coalesce(:missing, provider_missing_fields)
     where ${asItWasRead}
     returning ${columns}`,
  )

/** Steps of registering a brand or a campaign. Each takes effect only for the holder of the claim. */
export const formStatements = <R>({ table, columns }: Omit<Table, 'only'>) => ({
  keepProviderId: statement<Claim & { providerId: string }, RowKey>(
    `${table}.keep_provider_id`,
    `update ${table} set provider_id = :providerId
     where org_id = :orgId and id = :id and claimed_at = :claimedAt and provider_id is null
     returning org_id as "orgId", id`,
  ),
  recordSubmission: statement<Claim & { providerStatus: string; missing: string[] | null; at: Date }, R>(
    `${table}.record_submission`,
    `update ${table} set provider_status = :providerStatus, provider_missing_fields = :missing, claimed_at = null,
       updated_at = :at
     where org_id = :orgId and id = :id and claimed_at = :claimedAt and provider_status is null
     returning ${columns}`,
  ),
})

type Listing = { orgId: string; afterAt: string | null; afterId: string | null; limit: number }

export const listStatement = <R>({ table, columns }: Omit<Table, 'only'>) =>
  statement<Listing, R>(
    `${table}.list`,
    `select ${columns} from ${table}
     where org_id = :orgId
       and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))
     order by created_at desc, id desc
     limit :limit`,
  )
