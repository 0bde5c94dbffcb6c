/** The columns and the SQL that brands, campaigns and numbers have in common: claims, retries and reports of the registry. */
import { oneOf, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { type Keyset, newestPage } from '../../../platform/ground/cursor.ts'
import type { Environment } from '../../../platform/ground/scope.ts'

export const registrationStatuses = ['pending', 'verified', 'unverified', 'failed'] as const
export type RegistrationStatus = (typeof registrationStatuses)[number]

export const registrationColumns = {
  org_id: text,
  id: text,
  environment: oneOf<Environment>(),
  status: oneOf<RegistrationStatus>(),
  status_reason: text.orNull,
  provider_id: text.orNull,
  provider_status: text.orNull,
  verified_at: time.orNull,
  claimed_at: time.orNull,
  created_at: time,
  updated_at: time,
}

export type RegistrationRow = RowOf<{ table: typeof registrationColumns }>

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

type RegistrationTable = {
  table: 'brands' | 'campaigns' | 'phone_numbers'
  columns: string
  /** Which rows of the table are registered. */
  only: string
}

const isOrphan = "status = 'pending' and provider_status is null"
const isFree = '(claimed_at is null or claimed_at <= :staleAt)'
const claimed = 'org_id = :orgId and id = :id and claimed_at = :claimedAt'

/** `more` assigns further columns. */
const recordReportSql = ({ table, columns }: RegistrationTable, more = ''): string =>
  `update ${table} set status = :status, status_reason = :reason, provider_status = :providerStatus${more},
     verified_at = case when :status <> 'verified' then null when status = 'verified' then verified_at else :at end,
     updated_at = :at
   where org_id = :orgId and id = :id and updated_at = :readAt
   returning ${columns}`

export const registrationSql = (of: RegistrationTable) => {
  const { table, columns, only } = of
  return {
    /** Claims registrations that the registry has not got, in the order of their keys. */
    claimOrphans: `update ${table} set claimed_at = :at
     where (org_id, id) in (
       select org_id, id from ${table}
       where ${isOrphan} and ${only} and ${isFree} and (org_id, id) > (:afterOrg, :afterId)
       order by org_id, id limit :limit for update skip locked)
     returning ${columns}`,

    /** Gives up registrations that were created before `createdBefore`. */
    failOrphans: `update ${table} set status = 'failed', status_reason = :reason, claimed_at = null, updated_at = :at
     where ${isOrphan} and ${only} and ${isFree} and created_at < :createdBefore
     returning ${columns}`,

    releaseClaim: `update ${table} set claimed_at = null where ${claimed}`,

    find: `select ${columns} from ${table} where org_id = :orgId and id = :id`,

    /** For the development tools, which know the id but not the org. */
    exists: `select id from ${table} where id = :id`,

    delete: `delete from ${table} where org_id = :orgId and id = :id returning ${columns}`,

    /** Rows of all orgs that the registry knows, in the order of their keys. */
    listRegistered: `select ${columns} from ${table}
     where (org_id, id) > (:afterOrg, :afterId) and status <> 'failed' and provider_status is not null and ${only}
     order by org_id, id
     limit :limit`,

    list: `select ${columns} from ${table}
     where org_id = :orgId and (:environment::text is null or environment = :environment) ${newestPage}`,

    recordReport: recordReportSql(of),

    recordFormReport: recordReportSql(of, ', provider_missing_fields = coalesce(:missing, provider_missing_fields)'),

    /** Steps of registering a brand or a campaign. Each takes effect only for the holder of the claim. */
    keepProviderId: `update ${table} set provider_id = :providerId
     where ${claimed} and provider_id is null
     returning id`,

    recordSubmitted: `update ${table} set provider_status = :providerStatus, provider_missing_fields = :missing,
       claimed_at = null, updated_at = :at
     where ${claimed} and provider_status is null
     returning ${columns}`,
  }
}
