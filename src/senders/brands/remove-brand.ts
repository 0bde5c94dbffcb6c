import type { Actor } from '../../audit/append.ts'
import { foreignKeyViolation } from '../../db/faults.ts'
import type { Db } from '../../db/pool.ts'
import { Failure } from '../../ground/errors.ts'
import type { Scope } from '../../ground/scope.ts'
import type { SmsRegistries } from '../../providers/registry/open-sms-registry.ts'
import type { Announce } from '../registration/announce.ts'
import { assertOwnEnvironment, assertOwnRow, orProviderUnavailable } from '../registration/may-change.ts'
import { brandSubject } from '../registration/subject.ts'
import { brandStatements, hasCampaigns } from '../store/brand-rows.ts'

export type RemoveBrand = (scope: Scope, actor: Actor, id: string) => Promise<void>

type Needs = { db: Db; announce: Announce; registries: SmsRegistries }

export const makeRemoveBrand =
  ({ db, announce, registries }: Needs): RemoveBrand =>
  async (scope, actor, id) => {
    const key = { orgId: scope.orgId, id }
    const row = await db.row(brandStatements.find, key)
    if (!row) throw new Failure('NOT_FOUND')
    assertOwnRow(scope, row)
    assertOwnEnvironment(scope, row)
    if (await db.row(hasCampaigns, key)) throw new Failure('BRAND_HAS_CAMPAIGNS')
    const { provider_id: providerId, environment } = row
    if (providerId !== null) {
      const removal = registries.of(environment)?.removeRegistration({ id, providerId })
      await orProviderUnavailable(removal ?? Promise.resolve())
    }
    try {
      await db.tx(async (tx) => {
        const removed = await tx.row(brandStatements.delete, key)
        if (!removed) throw new Failure('NOT_FOUND')
        await announce.change(tx, actor, 'removed', { ...brandSubject(removed), reason: null })
      })
    } catch (error) {
      // A campaign was added in between.
      throw foreignKeyViolation(error) ? new Failure('BRAND_HAS_CAMPAIGNS') : error
    }
  }
