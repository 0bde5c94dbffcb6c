/** Adds and removes campaigns. */
import type { Actor } from '../../../journal/audit/append.ts'
import { foreignKeyViolation } from '../../../platform/db/faults.ts'
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { isId } from '../../../platform/ground/ids.ts'
import { orNotFound } from '../../../platform/ground/or-not-found.ts'
import type { Scope } from '../../../platform/ground/scope.ts'
import { claimedId, type IdempotencyClaim } from '../../../platform/idempotency/claims.ts'
import type { SmsRegistries } from '../../../providers/registry/open-sms-registry.ts'
import type { RegistrationEntry } from '../../../providers/registry/sms-registry.ts'
import { type Announce, campaignSubject, numberSubject } from '../registration/announce.ts'
import { assertRegistry, findChangeable, unregister } from '../registration/may-change.ts'
import type { SpendRegistration } from '../registration/provision-limit.ts'
import type { RegisterForm } from '../registration/register-form.ts'
import { brandStatements } from '../store/brand-rows.ts'
import { type CampaignRow, campaignStatements, insertCampaign } from '../store/campaign-rows.ts'
import { unverifyNumbersOf } from '../store/phone-number-rows.ts'
import type { CreateCampaign } from './shapes.ts'

/** The numbers of the campaign stay, but nobody can send from them until they are bound to another one. */
export type RemoveCampaign = (scope: Scope, actor: Actor, id: string) => Promise<void>

type Needs = { db: Db; clock: Clock; announce: Announce; registries: SmsRegistries }

/** A campaign is registered together with its brand. */
export const makeCampaignEntry =
  ({ db }: { db: Db }) =>
  async ({ org_id: orgId, id, environment, kind, fields, brand_id }: CampaignRow): Promise<RegistrationEntry> => {
    const brand = await db.row(brandStatements.find, { orgId, id: brand_id })
    const { provider_id: providerId = null, fields: brandFields = {} } = brand ?? {}
    return { id, environment, fields, form: kind, brand: { providerId, fields: brandFields } }
  }

type AddNeeds = Needs & { spend: SpendRegistration; register: RegisterForm<CampaignRow> }

export const makeAddCampaign = (needs: AddNeeds) => {
  const { db, clock, announce, registries, spend, register } = needs

  const assertBrand = async ({ orgId, environment }: Scope, { brand_id: id, kind }: CreateCampaign): Promise<void> => {
    const brand = isId('brand', id) ? await db.row(brandStatements.find, { orgId, id }) : undefined
    if (!brand) throw new Failure('BRAND_NOT_FOUND')
    if (environment === 'live' && brand.environment === 'test') throw new Failure('BRAND_IS_TEST_MODE')
    if (kind === '10dlc' && brand.status !== 'verified') throw new Failure('BRAND_NOT_VERIFIED')
  }

  const insert = (id: string, { orgId, environment }: Scope, actor: Actor, body: CreateCampaign) =>
    db.tx(async (tx) => {
      const { brand_id: brandId, kind, ...fields } = body
      const at = clock.now()
      const row = { orgId, id, brandId, environment, kind, fields: JSON.stringify(fields), at }
      const made = await tx.row(insertCampaign, row)
      if (!made) throw new Error('the campaign was not inserted')
      await announce.record(tx, actor, 'campaign.created', campaignSubject(made), { environment })
      return made
    })

  return async (scope: Scope, actor: Actor, body: CreateCampaign, claim?: IdempotencyClaim): Promise<CampaignRow> => {
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

export type AddCampaign = ReturnType<typeof makeAddCampaign>

export const makeRemoveCampaign =
  ({ db, clock, announce, registries, forget }: Needs & { forget: (orgId: string) => void }): RemoveCampaign =>
  async (scope, actor, id) => {
    const { orgId } = scope
    await unregister(registries, await findChangeable(db, campaignStatements.find, scope, id))
    await db.tx(async (tx) => {
      const removed = await orNotFound(tx.row(campaignStatements.delete, { orgId, id }))
      const reason = 'The campaign was deleted.'
      const numbers = await tx.rows(unverifyNumbersOf, { orgId, campaignId: id, reason, at: clock.now() })
      await announce.change(tx, actor, 'removed', { ...campaignSubject(removed), reason: null })
      await announce.change(tx, actor, 'unverified', ...numbers.map(numberSubject))
    })
    forget(orgId)
  }
