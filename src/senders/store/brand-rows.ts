import { statement } from '../../db/statement.ts'
import type { Environment } from '../../ground/scope.ts'
import {
  formStatements,
  listStatement,
  type RegistrationRow,
  type RowKey,
  recordFormReportStatement,
  registrationColumns,
  registrationStatements,
} from './registration-rows.ts'

export type BrandRow = RegistrationRow & {
  provider_missing_fields: string[] | null
  fields: Record<string, string | null>
}

const columns = `${registrationColumns}, provider_missing_fields, fields`
const table = { table: 'brands', columns } as const

export const brandStatements = {
  ...registrationStatements<BrandRow>({ ...table, only: 'true' }),
  ...formStatements<BrandRow>(table),
  recordReport: recordFormReportStatement<BrandRow>(table),
  list: listStatement<BrandRow>(table),
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
