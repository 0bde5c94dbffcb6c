import type { Db } from '../../db/pool.ts'
import type { RegistrationEntry } from '../../providers/registry/sms-registry.ts'
import { brandStatements } from '../store/brand-rows.ts'
import type { CampaignRow } from '../store/campaign-rows.ts'

/** A campaign is registered together with its brand. */
export const makeCampaignEntry =
  ({ db }: { db: Db }) =>
  async ({ org_id: orgId, id, environment, kind, fields, brand_id }: CampaignRow): Promise<RegistrationEntry> => {
    const brand = await db.row(brandStatements.find, { orgId, id: brand_id })
    const { provider_id: providerId = null, fields: brandFields = {} } = brand ?? {}
    return { id, environment, fields, form: kind, brand: { providerId, fields: brandFields } }
  }
