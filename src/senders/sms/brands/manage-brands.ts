/** Adds, corrects and removes brands. */
import type { Actor } from '../../../journal/audit/append.ts'
import { foreignKeyViolation } from '../../../platform/db/faults.ts'
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { orNotFound } from '../../../platform/ground/or-not-found.ts'
import type { Scope } from '../../../platform/ground/scope.ts'
import { claimedId, type IdempotencyClaim } from '../../../platform/idempotency/claims.ts'
import type { SmsRegistries } from '../../../providers/registry/open-sms-registry.ts'
import type { RegistrationEntry } from '../../../providers/registry/sms-registry.ts'
import { type Announce, brandSubject } from '../registration/announce.ts'
import {
  assertOwnRow,
  assertRegistry,
  findChangeable,
  orProviderUnavailable,
  unregister,
} from '../registration/may-change.ts'
import type { SpendRegistration } from '../registration/provision-limit.ts'
import type { RegisterForm } from '../registration/register-form.ts'
import {
  type BrandRow,
  brandStatements,
  hasCampaigns,
  insertBrand,
  recordCorrection,
  updateBrandFields,
} from '../store/brand-rows.ts'
import type { CreateBrand, PatchBrand, Resubmit } from './shapes.ts'

export type AddBrand = (scope: Scope, actor: Actor, body: CreateBrand, claim?: IdempotencyClaim) => Promise<BrandRow>

export type RemoveBrand = (scope: Scope, actor: Actor, id: string) => Promise<void>

type Corrected = { row: BrandRow; resubmit: Resubmit }

type Needs = { db: Db; clock: Clock; announce: Announce; registries: SmsRegistries; spend: SpendRegistration }

export const brandEntry = ({ id, environment, fields }: BrandRow): RegistrationEntry => ({
  id,
  environment,
  fields,
  form: 'brand',
})

/** The row is stored before the registry is called, so that a call that fails is repeated later. */
export const makeAddBrand =
  ({ db, clock, announce, registries, spend, register }: Needs & { register: RegisterForm<BrandRow> }): AddBrand =>
  async (scope, actor, body, claim) => {
    const { orgId, environment } = scope
    const id = claimedId('brand', claim, clock)
    const earlier = claim?.interrupted && (await db.row(brandStatements.find, { orgId, id }))
    if (earlier) return earlier
    assertRegistry(registries, environment)
    await spend(scope)
    const row = await db.tx(async (tx) => {
      const at = clock.now()
      const made = await tx.row(insertBrand, { orgId, id, environment, fields: JSON.stringify(body), at })
      if (!made) throw new Error('the brand was not inserted')
      const { entity_type } = body
      await announce.record(tx, actor, 'brand.created', brandSubject(made), { entity_type, environment })
      return made
    })
    return register(row)
  }

export const makeCorrectBrand = (needs: Needs) => {
  const { db, clock, announce, registries, spend } = needs

  const assertMayCorrect = async (scope: Scope, id: string): Promise<void> => {
    const row = await orNotFound(db.row(brandStatements.find, { orgId: scope.orgId, id }))
    assertOwnRow(scope, row)
    if (scope.environment === 'test' && row.environment === 'live') throw new Failure('BRAND_IS_LIVE_MODE')
    // A brand that the registry has needs it again for the correction.
    if (row.provider_status !== null) assertRegistry(registries, row.environment)
  }

  const store = (scope: Scope, actor: Actor, id: string, body: PatchBrand): Promise<BrandRow> =>
    db.tx(async (tx) => {
      const { orgId } = scope
      const changes = { orgId, id, fields: JSON.stringify(body), at: clock.now() }
      const row = await orNotFound(tx.row(updateBrandFields, changes))
      await announce.record(tx, actor, 'brand.updated', brandSubject(row), { fields: Object.keys(body).sort() })
      return row
    })

  return async (scope: Scope, actor: Actor, id: string, body: PatchBrand): Promise<Corrected> => {
    await assertMayCorrect(scope, id)
    await spend(scope)
    const row = await store(scope, actor, id, body)
    const registry = registries.of(row.environment)
    if (!registry || row.provider_id === null || row.provider_status === null)
      return { row, resubmit: 'no_registration' }
    const submission = await orProviderUnavailable(registry.correct(brandEntry(row), row.provider_id))
    if (!submission) return { row, resubmit: 'not_submittable' }
    const { status: providerStatus, missing } = submission
    const { orgId } = scope
    const correction = { orgId, id, providerStatus, missing, at: clock.now() }
    return { row: await orNotFound(db.row(recordCorrection, correction)), resubmit: 'pushed' }
  }
}

export type CorrectBrand = ReturnType<typeof makeCorrectBrand>

export const makeRemoveBrand =
  ({ db, announce, registries }: Omit<Needs, 'clock' | 'spend'>): RemoveBrand =>
  async (scope, actor, id) => {
    const key = { orgId: scope.orgId, id }
    const row = await findChangeable(db, brandStatements.find, scope, id)
    if (await db.row(hasCampaigns, key)) throw new Failure('BRAND_HAS_CAMPAIGNS')
    await unregister(registries, row)
    try {
      await db.tx(async (tx) => {
        const removed = await orNotFound(tx.row(brandStatements.delete, key))
        await announce.change(tx, actor, 'removed', { ...brandSubject(removed), reason: null })
      })
    } catch (error) {
      // A campaign was added in between.
      throw foreignKeyViolation(error) ? new Failure('BRAND_HAS_CAMPAIGNS') : error
    }
  }
