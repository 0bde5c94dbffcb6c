import { statement } from '../../db/statement.ts'
import type { Environment } from '../../ground/scope.ts'
import {
  type AfterRow,
  type Claim,
  type ClaimOrphans,
  claimOrphansSql,
  deleteSql,
  type FailOrphans,
  failOrphansSql,
  findSql,
  type KeepProviderId,
  keepProviderIdSql,
  type ListRows,
  listRegisteredSql,
  listSql,
  type RecordFormReport,
  type RecordSubmitted,
  type RegistrationRow,
  type RowKey,
  recordFormReportSql,
  recordSubmittedSql,
  registrationColumns,
  releaseClaimSql,
} from './registration-rows.ts'

export type BrandRow = RegistrationRow & {
  provider_missing_fields: string[] | null
  fields: Record<string, string | null>
}

const columns = `${registrationColumns}, provider_missing_fields, fields`
const table = { table: 'brands', columns, only: 'true' } as const

export const brandStatements = {
  claimOrphans: statement<ClaimOrphans, BrandRow>('brands.claim_orphans', claimOrphansSql(table)),
  failOrphans: statement<FailOrphans, BrandRow>('brands.fail_orphans', failOrphansSql(table)),
  releaseClaim: statement<Claim>('brands.release_claim', releaseClaimSql(table)),
  find: statement<RowKey, BrandRow>('brands.find', findSql(table)),
  /** For the development tools, which know the id but not the org. */
  exists: statement<{ id: string }, { id: string }>('brands.exists', 'select id from brands where id = :id'),
  listRegistered: statement<AfterRow, BrandRow>('brands.list_registered', listRegisteredSql(table)),
  delete: statement<RowKey, BrandRow>('brands.delete', deleteSql(table)),
  keepProviderId: statement<KeepProviderId, { id: string }>('brands.keep_provider_id', keepProviderIdSql(table)),
  recordSubmission: statement<RecordSubmitted, BrandRow>('brands.record_submission', recordSubmittedSql(table)),
  recordReport: statement<RecordFormReport, BrandRow>('brands.record_report', recordFormReportSql(table)),
  list: statement<ListRows, BrandRow>('brands.list', listSql(table)),
}

/** The request that creates the row also registers it, so the row is claimed from the start. */
export const insertBrand = statement<
  { orgId: string; id: string; environment: Environment; fields: string; at: Date },
  BrandRow
>(
  'brands.insert',
  `insert into brands (org_id, id, environment, status, fields, claimed_at, created_at, updated_at)
   values (:orgId, :id, :environment, 'pending', :fields::jsonb, :at, :at, :at)
   returning ${columns}`,
)

export const updateBrandFields = statement<RowKey & { fields: string; at: Date }, BrandRow>(
  'brands.update_fields',
  `update brands set fields = fields || :fields::jsonb, updated_at = :at
   where org_id = :orgId and id = :id
   returning ${columns}`,
)

/** The registry took a correction and reviews the brand again. */
export const recordCorrection = statement<
  RowKey & { providerStatus: string; missing: string[] | null; at: Date },
  BrandRow
>(
  'brands.record_correction',
  `update brands set status = 'pending', status_reason = null, provider_status = :providerStatus,
     provider_missing_fields = :missing, verified_at = null, updated_at = :at
   where org_id = :orgId and id = :id
   returning ${columns}`,
)

export const hasCampaigns = statement<RowKey, { id: string }>(
  'brands.has_campaigns',
  'select id from campaigns where org_id = :orgId and brand_id = :id limit 1',
)
