import type { Actor } from '../../audit/append.ts'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import type { Scope } from '../../ground/scope.ts'
import { claimedId, type IdempotencyClaim } from '../../idempotency/claims.ts'
import type { SmsRegistries } from '../../providers/registry/open-sms-registry.ts'
import type { Announce } from '../registration/announce.ts'
import { assertRegistry } from '../registration/may-change.ts'
import type { SpendRegistration } from '../registration/provision-limit.ts'
import type { RegisterForm } from '../registration/register-form.ts'
import { brandSubject } from '../registration/subject.ts'
import { type BrandRow, brandStatements, insertBrand } from '../store/brand-rows.ts'
import type { CreateBrand } from './shapes.ts'

export type AddBrand = (scope: Scope, actor: Actor, body: CreateBrand, claim?: IdempotencyClaim) => Promise<BrandRow>

type Needs = {
  db: Db
  clock: Clock
  announce: Announce
  registries: SmsRegistries
  spend: SpendRegistration
  register: RegisterForm<BrandRow>
}

/** The row is stored before the registry is called, so that a call that fails is repeated later. */
export const makeAddBrand =
  ({ db, clock, announce, registries, spend, register }: Needs): AddBrand =>
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
