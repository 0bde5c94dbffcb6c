import { columns, type Given, json, type RowOf, texts } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import {
  type AfterRow,
  type Claim,
  type ClaimOrphans,
  type FailOrphans,
  type KeepProviderId,
  type ListRows,
  type RecordFormReport,
  type RecordSubmitted,
  type RowKey,
  registrationColumns,
  registrationSql,
} from './registration-rows.ts'

const brandColumns = columns({
  ...registrationColumns,
  provider_missing_fields: texts.orNull,
  fields: json<Record<string, string | null>>(),
})

export type BrandRow = RowOf<typeof brandColumns>

const sql = registrationSql({ table: 'brands', columns: `${brandColumns}`, only: 'true' })

export const brandStatements = {
  claimOrphans: statement<ClaimOrphans, BrandRow>('brands.claim_orphans', sql.claimOrphans),
  failOrphans: statement<FailOrphans, BrandRow>('brands.fail_orphans', sql.failOrphans),
  releaseClaim: statement<Claim>('brands.release_claim', sql.releaseClaim),
  find: statement<RowKey, BrandRow>('brands.find', sql.find),
  exists: statement<{ id: string }, { id: string }>('brands.exists', sql.exists),
  listRegistered: statement<AfterRow, BrandRow>('brands.list_registered', sql.listRegistered),
  delete: statement<RowKey, BrandRow>('brands.delete', sql.delete),
  keepProviderId: statement<KeepProviderId, { id: string }>('brands.keep_provider_id', sql.keepProviderId),
  recordSubmission: statement<RecordSubmitted, BrandRow>('brands.record_submission', sql.recordSubmitted),
  recordReport: statement<RecordFormReport, BrandRow>('brands.record_report', sql.recordFormReport),
  list: statement<ListRows, BrandRow>('brands.list', sql.list),
}

/** The request that creates the row also registers it, so the row is claimed from the start. */
export const insertBrand = statement<
  Given<BrandRow, 'org_id' | 'id' | 'environment'> & { fields: string; at: Date },
  BrandRow
>(
  'brands.insert',
  `insert into brands (org_id, id, environment, status, fields, claimed_at, created_at, updated_at)
   values (:orgId, :id, :environment, 'pending', :fields::jsonb, :at, :at, :at)
   returning ${brandColumns}`,
)

export const updateBrandFields = statement<RowKey & { fields: string; at: Date }, BrandRow>(
  'brands.update_fields',
  `update brands set fields = fields || :fields::jsonb, updated_at = :at
   where org_id = :orgId and id = :id
   returning ${brandColumns}`,
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
   returning ${brandColumns}`,
)

export const hasCampaigns = statement<RowKey, { id: string }>(
  'brands.has_campaigns',
  'select id from campaigns where org_id = :orgId and brand_id = :id limit 1',
)
