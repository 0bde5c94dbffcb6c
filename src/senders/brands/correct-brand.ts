import type { Actor } from '../../audit/append.ts'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { Failure } from '../../ground/errors.ts'
import type { Scope } from '../../ground/scope.ts'
import type { SmsRegistries } from '../../providers/registry/open-sms-registry.ts'
import type { Announce } from '../registration/announce.ts'
import { assertOwnRow, assertRegistry, orProviderUnavailable } from '../registration/may-change.ts'
import type { SpendRegistration } from '../registration/provision-limit.ts'
import { brandSubject } from '../registration/subject.ts'
import { type BrandRow, brandStatements, recordCorrection, updateBrandFields } from '../store/brand-rows.ts'
import { brandEntry } from './brand-entry.ts'
import type { PatchBrand, Resubmit } from './shapes.ts'

export type CorrectBrand = (
  scope: Scope,
  actor: Actor,
  id: string,
  body: PatchBrand,
) => Promise<{ row: BrandRow; resubmit: Resubmit }>

type Needs = { db: Db; clock: Clock; announce: Announce; registries: SmsRegistries; spend: SpendRegistration }

export const makeCorrectBrand = (needs: Needs): CorrectBrand => {
  const { db, clock, announce, registries, spend } = needs

  const assertMayCorrect = async (scope: Scope, id: string): Promise<void> => {
    const row = await db.row(brandStatements.find, { orgId: scope.orgId, id })
    if (!row) throw new Failure('NOT_FOUND')
    assertOwnRow(scope, row)
    if (scope.environment === 'test' && row.environment === 'live') throw new Failure('BRAND_IS_LIVE_MODE')
    // A brand that the registry has needs it again for the correction.
    if (row.provider_status !== null) assertRegistry(registries, row.environment)
  }

  const store = (scope: Scope, actor: Actor, id: string, body: PatchBrand): Promise<BrandRow> =>
    db.tx(async (tx) => {
      const { orgId } = scope
      const row = await tx.row(updateBrandFields, { orgId, id, fields: JSON.stringify(body), at: clock.now() })
      if (!row) throw new Failure('NOT_FOUND')
      await announce.record(tx, actor, 'brand.updated', brandSubject(row), { fields: Object.keys(body).sort() })
      return row
    })

  return async (scope, actor, id, body) => {
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
    const corrected = await db.row(recordCorrection, { orgId, id, providerStatus, missing, at: clock.now() })
    if (!corrected) throw new Failure('NOT_FOUND')
    return { row: corrected, resubmit: 'pushed' }
  }
}
