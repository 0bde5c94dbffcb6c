import { statement } from '../../db/statement.ts'
import type { Environment } from '../../ground/scope.ts'
import {
  formStatements,
  listStatement,
  type RegistrationRow,
  type RegistrationStatus,
  recordFormReportStatement,
  registrationColumns,
  registrationStatements,
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
const table = { table: 'campaigns', columns } as const

export const campaignStatements = {
  ...registrationStatements<CampaignRow>({ ...table, only: 'true' }),
  ...formStatements<CampaignRow>(table),
  recordReport: recordFormReportStatement<CampaignRow>(table),
  list: listStatement<CampaignRow>(table),
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
