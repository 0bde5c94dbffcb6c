import type { Db } from '../../db/pool.ts'
import { Failure, invalid } from '../../ground/errors.ts'
import { isId } from '../../ground/ids.ts'
import type { Environment } from '../../ground/scope.ts'
import type { NumberType } from '../../providers/registry/sms-registry.ts'
import { type CampaignRow, campaignStatements } from '../store/campaign-rows.ts'

type Binding = { orgId: string; campaignId: string; environment: Environment; type: NumberType | null }

/** The campaign that a number may be bound to. */
export const findUsableCampaign = async (db: Db, binding: Binding): Promise<CampaignRow> => {
  const { orgId, campaignId: id, environment, type } = binding
  const campaign = isId('campaign', id) ? await db.row(campaignStatements.find, { orgId, id }) : undefined
  if (!campaign) throw new Failure('CAMPAIGN_NOT_FOUND')
  if (environment === 'live' && campaign.environment === 'test') throw new Failure('CAMPAIGN_IS_TEST_MODE')
  if (campaign.status !== 'verified') throw new Failure('CAMPAIGN_NOT_VERIFIED')
  const kind = type === 'tollfree' ? 'tollfree' : '10dlc'
  if (campaign.kind !== kind) {
    throw invalid(['campaign_id'], 'custom', `A ${type} number needs a campaign of kind ${kind}.`)
  }
  return campaign
}
