/** What events and audit entries say about a brand, a campaign or a number. */
import type { BrandRow } from '../store/brand-rows.ts'
import type { CampaignRow } from '../store/campaign-rows.ts'
import type { PhoneNumberRow } from '../store/phone-number-rows.ts'
import type { RegistrationRow } from '../store/registration-rows.ts'

export type SubjectType = 'brand' | 'campaign' | 'phone_number'

export type Subject = {
  type: SubjectType
  orgId: string
  tenantId: string | null
  id: string
  providerStatus: string | null
  reason: string | null
  /** The fields that only this type has. */
  about: Record<string, unknown>
}

const common = (row: RegistrationRow) => ({
  orgId: row.org_id,
  tenantId: null,
  id: row.id,
  providerStatus: row.provider_status,
  reason: row.status_reason,
})

export const brandSubject = (row: BrandRow): Subject => ({
  ...common(row),
  type: 'brand',
  about: { display_name: row.fields.display_name },
})

export const campaignSubject = (row: CampaignRow): Subject => ({
  ...common(row),
  type: 'campaign',
  about: { brand_id: row.brand_id, name: row.fields.name, kind: row.kind, use_case: row.fields.use_case },
})

export const numberSubject = (row: PhoneNumberRow): Subject => ({
  ...common(row),
  type: 'phone_number',
  tenantId: row.tenant_id,
  about: {
    kind: row.kind,
    e164: row.e164,
    sender_id: row.sender_id,
    iso_country: row.iso_country,
    campaign_id: row.campaign_id,
  },
})
