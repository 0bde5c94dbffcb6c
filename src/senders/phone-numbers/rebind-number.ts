import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { Failure, invalid } from '../../ground/errors.ts'
import type { Scope } from '../../ground/scope.ts'
import type { SmsRegistries } from '../../providers/registry/open-sms-registry.ts'
import {
  assertOwnEnvironment,
  assertOwnRow,
  assertRegistry,
  orProviderUnavailable,
} from '../registration/may-change.ts'
import type { CampaignRow } from '../store/campaign-rows.ts'
import { type PhoneNumberRow, phoneNumberStatements, rebindNumber } from '../store/phone-number-rows.ts'
import { findUsableCampaign } from './usable-campaign.ts'

export type RebindNumber = (scope: Scope, id: string, campaignId: string) => Promise<PhoneNumberRow>

type Needs = { db: Db; clock: Clock; registries: SmsRegistries; forget: (orgId: string) => void }

export const makeRebindNumber = ({ db, clock, registries, forget }: Needs): RebindNumber => {
  const bind = async ({ id, provider_id, environment }: PhoneNumberRow, campaign: CampaignRow): Promise<void> => {
    if (provider_id === null) return
    assertRegistry(registries, environment)
    const ref = { id, providerId: provider_id }
    const to = { id: campaign.id, providerId: campaign.provider_id ?? '' }
    await orProviderUnavailable(registries.of(environment)?.bind(ref, to) ?? Promise.resolve())
  }

  return async (scope, id, campaignId) => {
    const { orgId } = scope
    const row = await db.row(phoneNumberStatements.find, { orgId, id })
    if (!row) throw new Failure('NOT_FOUND')
    assertOwnRow(scope, row)
    assertOwnEnvironment(scope, row)
    if (row.kind === 'alphanumeric') {
      throw invalid(['campaign_id'], 'custom', 'An alphanumeric sender has no campaign.')
    }
    const { environment, type } = row
    const campaign = await findUsableCampaign(db, { orgId, campaignId, environment, type })
    await bind(row, campaign)
    const bound = await db.row(rebindNumber, { orgId, id, campaignId, at: clock.now() })
    if (!bound) throw new Failure('NOT_FOUND')
    forget(orgId)
    return bound
  }
}
