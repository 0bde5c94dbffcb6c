/** The SQL that brands, campaigns and numbers have in common: claims, retries and reports of the registry. */
import type { Keyset } from '../../ground/cursor.ts'
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
export type ClaimOrphans = AfterRow & { staleAt: Date; at: Date }
export type FailOrphans = { createdBefore: Date; staleAt: Date; reason: string; at: Date }
export type KeepProviderId = Claim & { providerId: string }
export type RecordSubmitted = Claim & { providerStatus: string; missing: string[] | null; at: Date }
export type RecordReport = RowKey & {
  /** The row changes only if it is still as it was read. */
  readAt: Date
  status: RegistrationStatus
  reason: string | null
  providerStatus: string | null
  at: Date
}
/** Null leaves the missing fields as they are. */
export type RecordFormReport = RecordReport & { missing: string[] | null }
/** Without an environment, rows of both. */
export type ListRows = Keyset & { orgId: string; environment: Environment | null }

export type RegistrationTable = {
  table: 'brands' | 'campaigns' | 'phone_numbers'
  columns: string
  /** Which rows of the table are registered. */
  only: string
}

const isOrphan = "status = 'pending' and provider_status is null"
const isFree = '(claimed_at is null or claimed_at <= :staleAt)'

/** Claims registrations that the registry has not got, in the order of their keys. */
export const claimOrphansSql = ({ table, columns, only }: RegistrationTable): string =>
  `update ${table} set claimed_at = :at
   where (org_id, id) in (
     select org_id, id from ${table}
     where ${isOrphan} and ${only} and ${isFree} and (org_id, id) > (:afterOrg, :afterId)
     order by org_id, id limit :limit for update skip locked)
   returning ${columns}`

/** Gives up registrations that were created before `createdBefore`. */
export const failOrphansSql = ({ table, columns, only }: RegistrationTable): string =>
  `update ${table} set status = 'failed', status_reason = :reason, claimed_at = null, updated_at = :at
   where ${isOrphan} and ${only} and ${isFree} and created_at < :createdBefore
   returning ${columns}`

export const releaseClaimSql = ({ table }: RegistrationTable): string =>
  `update ${table} set claimed_at = null
   where org_id = :orgId and id = :id and claimed_at = :claimedAt`

export const findSql = ({ table, columns }: RegistrationTable): string =>
  `select ${columns} from ${table} where org_id = :orgId and id = :id`

export const deleteSql = ({ table, columns }: RegistrationTable): string =>
  `delete from ${table} where org_id = :orgId and id = :id returning ${columns}`

/** Rows of all orgs that the registry knows, in the order of their keys. */
export const listRegisteredSql = ({ table, columns, only }: RegistrationTable): string =>
  `select ${columns} from ${table}
   where (org_id, id) > (:afterOrg, :afterId) and status <> 'failed' and provider_status is not null and ${only}
   order by org_id, id
   limit :limit`

export const listSql = ({ table, columns }: RegistrationTable): string =>
  `select ${columns} from ${table}
   where org_id = :orgId and (:environment::text is null or environment = :environment)
     and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))
   order by created_at desc, id desc
   limit :limit`

/** `more` assigns further columns. */
export const recordReportSql = ({ table, columns }: RegistrationTable, more = ''): string =>
  `update ${table} set status = :status, status_reason = :reason, provider_status = :providerStatus${more},
     verified_at = case when :status <> 'verified' then null when status = 'verified' then verified_at else :at end,
     updated_at = :at
   where org_id = :orgId and id = :id and updated_at = :readAt
   returning ${columns}`

export const recordFormReportSql = (table: RegistrationTable): string =>
  recordReportSql(table, ', provider_missing_fields = coalesce(:missing, provider_missing_fields)')

/** Steps of registering a brand or a campaign. Each takes effect only for the holder of the claim. */
export const keepProviderIdSql = ({ table }: RegistrationTable): string =>
  `update ${table} set provider_id = :providerId
   where org_id = :orgId and id = :id and claimed_at = :claimedAt and provider_id is null
   returning id`

export const recordSubmittedSql = ({ table, columns }: RegistrationTable): string =>
  `update ${table} set provider_status = :providerStatus, provider_missing_fields = :missing, claimed_at = null,
     updated_at = :at
   where org_id = :orgId and id = :id and claimed_at = :claimedAt and provider_status is null
   returning ${columns}`
