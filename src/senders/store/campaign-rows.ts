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
  type RegistrationStatus,
  type RowKey,
  recordFormReportSql,
  recordSubmittedSql,
  registrationColumns,
  releaseClaimSql,
} from './registration-rows.ts'

export const campaignKinds = ['10dlc', 'tollfree'] as const
export type CampaignKind = (typeof campaignKinds)[number]

export type CampaignRow = RegistrationRow & {
  provider_missing_fields: string[] | null
  brand_id: string
  kind: CampaignKind
  fields: Record<string, unknown> & { name: string; use_case: string }
  brand_status: RegistrationStatus
}

const columns = `${registrationColumns}, provider_missing_fields, brand_id, kind, fields,
  (select b.status from brands b where b.org_id = campaigns.org_id and b.id = campaigns.brand_id) as brand_status`
const table = { table: 'campaigns', columns, only: 'true' } as const

export const campaignStatements = {
  claimOrphans: statement<ClaimOrphans, CampaignRow>('campaigns.claim_orphans', claimOrphansSql(table)),
  failOrphans: statement<FailOrphans, CampaignRow>('campaigns.fail_orphans', failOrphansSql(table)),
  releaseClaim: statement<Claim>('campaigns.release_claim', releaseClaimSql(table)),
  find: statement<RowKey, CampaignRow>('campaigns.find', findSql(table)),
  /** For the development tools, which know the id but not the org. */
  exists: statement<{ id: string }, { id: string }>('campaigns.exists', 'select id from campaigns where id = :id'),
  listRegistered: statement<AfterRow, CampaignRow>('campaigns.list_registered', listRegisteredSql(table)),
  delete: statement<RowKey, CampaignRow>('campaigns.delete', deleteSql(table)),
  keepProviderId: statement<KeepProviderId, { id: string }>('campaigns.keep_provider_id', keepProviderIdSql(table)),
  recordSubmission: statement<RecordSubmitted, CampaignRow>('campaigns.record_submission', recordSubmittedSql(table)),
  recordReport: statement<RecordFormReport, CampaignRow>('campaigns.record_report', recordFormReportSql(table)),
  list: statement<ListRows, CampaignRow>('campaigns.list', listSql(table)),
}

/** The request that creates the row also registers it, so the row is claimed from the start. */
export const insertCampaign = statement<
  {
    orgId: string
    id: string
    brandId: string
    environment: Environment
    kind: CampaignKind
    fields: string
    at: Date
  },
  CampaignRow
>(
  'campaigns.insert',
  `insert into campaigns (org_id, id, brand_id, environment, kind, status, fields, claimed_at, created_at, updated_at)
   values (:orgId, :id, :brandId, :environment, :kind, 'pending', :fields::jsonb, :at, :at, :at)
   returning ${columns}`,
)
