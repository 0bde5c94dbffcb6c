/** Brands, campaigns, numbers and pools as responses show them. */
import type { z } from 'zod'
import { type Brand, type BrandFields, brandFieldNames } from '../senders/brands/shapes.ts'
import { type Campaign, shownCampaignFields } from '../senders/campaigns/shapes.ts'
import type { PhoneNumber } from '../senders/phone-numbers/shapes.ts'
import type { Pool } from '../senders/pools/pool-shapes.ts'
import type { BrandRow } from '../senders/store/brand-rows.ts'
import type { CampaignRow } from '../senders/store/campaign-rows.ts'
import type { PhoneNumberRow } from '../senders/store/phone-number-rows.ts'
import type { PoolRow } from '../senders/store/pool-rows.ts'
import { isoOrNull } from './shown-message.ts'

export const shownBrand = (row: BrandRow): z.output<typeof Brand> => ({
  id: row.id,
  status: row.status,
  status_reason: row.status_reason,
  environment: row.environment,
  provider_id: row.provider_id,
  provider_status: row.provider_status,
  provider_missing_fields: row.provider_missing_fields,
  ...(Object.fromEntries(brandFieldNames.map((name) => [name, row.fields[name] ?? null])) as BrandFields),
  verified_at: isoOrNull(row.verified_at),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

type CampaignFields = Pick<z.output<typeof Campaign>, keyof typeof shownCampaignFields>

export const shownCampaign = (row: CampaignRow): z.output<typeof Campaign> => ({
  id: row.id,
  brand_id: row.brand_id,
  name: row.fields.name,
  kind: row.kind,
  status: row.status,
  status_reason: row.status_reason,
  environment: row.environment,
  provider_id: row.provider_id,
  provider_status: row.provider_status,
  provider_missing_fields: row.provider_missing_fields,
  ...(Object.fromEntries(
    Object.keys(shownCampaignFields).map((name) => [name, row.fields[name] ?? null]),
  ) as CampaignFields),
  verified_at: isoOrNull(row.verified_at),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const shownPhoneNumber = (row: PhoneNumberRow): z.output<typeof PhoneNumber> => ({
  id: row.id,
  kind: row.kind,
  type: row.type,
  iso_country: row.iso_country,
  e164: row.e164,
  sender_id: row.sender_id,
  campaign_id: row.campaign_id,
  status: row.status,
  status_reason: row.status_reason,
  provider_id: row.provider_id,
  provider_status: row.provider_status,
  capabilities: row.capabilities,
  environment: row.environment,
  tenant_id: row.tenant_id,
  verified_at: isoOrNull(row.verified_at),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const shownPool = (row: PoolRow): z.output<typeof Pool> => ({
  id: row.id,
  slug: row.slug,
  name: row.name,
  tenant_id: row.tenant_id,
  phone_number_ids: row.phone_number_ids,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
