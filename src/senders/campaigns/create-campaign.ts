import type { Actor } from '../../audit/append.ts'
import { foreignKeyViolation } from '../../db/faults.ts'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { Failure } from '../../ground/errors.ts'
import { isId } from '../../ground/ids.ts'
import type { Scope } from '../../ground/scope.ts'
import { claimedId, type IdempotencyClaim } from '../../idempotency/claims.ts'
import type { SmsRegistries } from '../../providers/registry/open-sms-registry.ts'
import type { Announce } from '../registration/announce.ts'
import { assertRegistry } from '../registration/may-change.ts'
import type { SpendRegistration } from '../registration/provision-limit.ts'
import type { RegisterForm } from '../registration/register-form.ts'
import { campaignSubject } from '../registration/subject.ts'
import { brandStatements } from '../store/brand-rows.ts'
import { type CampaignRow, campaignStatements, insertCampaign } from '../store/campaign-rows.ts'
import type { CreateCampaign } from './shapes.ts'

export type AddCampaign = (
  scope: Scope,
  actor: Actor,
  body: CreateCampaign,
  claim?: IdempotencyClaim,
) => Promise<CampaignRow>

type Needs = {
  db: Db
  clock: Clock
  announce: Announce
  registries: SmsRegistries
  spend: SpendRegistration
  register: RegisterForm<CampaignRow>
}

export const makeAddCampaign = (needs: Needs): AddCampaign => {
  const { db, clock, announce, registries, spend, register } = needs

  const assertBrand = async ({ orgId, environment }: Scope, { brand_id: id, kind }: CreateCampaign): Promise<void> => {
    const brand = isId('brand', id) ? await db.row(brandStatements.find, { orgId, id }) : undefined
    if (!brand) throw new Failure('BRAND_NOT_FOUND')
    if (environment === 'live' && brand.environment === 'test') throw new Failure('BRAND_IS_TEST_MODE')
    if (kind === '10dlc' && brand.status !== 'verified') throw new Failure('BRAND_NOT_VERIFIED')
  }

  const insert = (
    id: string,
    { orgId, environment }: Scope,
    actor: Actor,
    body: CreateCampaign,
  ): Promise<CampaignRow> =>
    db.tx(async (tx) => {
      const { brand_id: brandId, kind, ...fields } = body
      const at = clock.now()
      const row = { orgId, id, brandId, environment, kind, fields: JSON.stringify(fields), at }
      const made = await tx.row(insertCampaign, row)
      if (!made) throw new Error('the campaign was not inserted')
      await announce.record(tx, actor, 'campaign.created', campaignSubject(made), { environment })
      return made
    })

  return async (scope, actor, body, claim) => {
    const id = claimedId('campaign', claim, clock)
    const earlier = claim?.interrupted && (await db.row(campaignStatements.find, { orgId: scope.orgId, id }))
    if (earlier) return earlier
    await assertBrand(scope, body)
    assertRegistry(registries, scope.environment)
    await spend(scope)
    let row: CampaignRow
    try {
      row = await insert(id, scope, actor, body)
    } catch (error) {
      // The brand was deleted in between.
      throw foreignKeyViolation(error) ? new Failure('BRAND_NOT_FOUND') : error
    }
    return register(row)
  }
}
