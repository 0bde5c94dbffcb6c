import { columns, type Given, json, oneOf, type RowOf, text, texts } from '../../../platform/db/columns.ts'
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
  type RegistrationStatus,
  type RowKey,
  registrationColumns,
  registrationSql,
} from './registration-rows.ts'

export const campaignKinds = ['10dlc', 'tollfree'] as const
type CampaignKind = (typeof campaignKinds)[number]

const ownColumns = columns({
  ...registrationColumns,
  provider_missing_fields: texts.orNull,
  brand_id: text,
  kind: oneOf<CampaignKind>(),
  fields: json<Record<string, unknown> & { name: string; use_case: string }>(),
})

export type CampaignRow = RowOf<typeof ownColumns> & { brand_status: RegistrationStatus }

const campaignColumns = `${ownColumns},
  (select b.status from brands b where b.org_id = campaigns.org_id and b.id = campaigns.brand_id) as brand_status`

const sql = registrationSql({ table: 'campaigns', columns: campaignColumns, only: 'true' })

export const campaignStatements = {
  claimOrphans: statement<ClaimOrphans, CampaignRow>('campaigns.claim_orphans', sql.claimOrphans),
  failOrphans: statement<FailOrphans, CampaignRow>('campaigns.fail_orphans', sql.failOrphans),
  releaseClaim: statement<Claim>('campaigns.release_claim', sql.releaseClaim),
  find: statement<RowKey, CampaignRow>('campaigns.find', sql.find),
  exists: statement<{ id: string }, { id: string }>('campaigns.exists', sql.exists),
  listRegistered: statement<AfterRow, CampaignRow>('campaigns.list_registered', sql.listRegistered),
  delete: statement<RowKey, CampaignRow>('campaigns.delete', sql.delete),
  keepProviderId: statement<KeepProviderId, { id: string }>('campaigns.keep_provider_id', sql.keepProviderId),
  recordSubmission: statement<RecordSubmitted, CampaignRow>('campaigns.record_submission', sql.recordSubmitted),
  recordReport: statement<RecordFormReport, CampaignRow>('campaigns.record_report', sql.recordFormReport),
  list: statement<ListRows, CampaignRow>('campaigns.list', sql.list),
}

/** The request that creates the row also registers it, so the row is claimed from the start. */
export const insertCampaign = statement<
  Given<CampaignRow, 'org_id' | 'id' | 'brand_id' | 'environment' | 'kind'> & { fields: string; at: Date },
  CampaignRow
>(
  'campaigns.insert',
  `insert into campaigns (org_id, id, brand_id, environment, kind, status, fields, claimed_at, created_at, updated_at)
   values (:orgId, :id, :brandId, :environment, :kind, 'pending', :fields::jsonb, :at, :at, :at)
   returning ${campaignColumns}`,
)
