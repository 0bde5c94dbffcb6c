import type { Actor } from '../../audit/append.ts'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { Failure } from '../../ground/errors.ts'
import type { Scope } from '../../ground/scope.ts'
import type { SmsRegistries } from '../../providers/registry/open-sms-registry.ts'
import type { Announce } from '../registration/announce.ts'
import { assertOwnEnvironment, assertOwnRow, orProviderUnavailable } from '../registration/may-change.ts'
import { campaignSubject, numberSubject } from '../registration/subject.ts'
import { campaignStatements } from '../store/campaign-rows.ts'
import { unverifyNumbersOf } from '../store/phone-number-rows.ts'

/** The numbers of the campaign stay, but nobody can send from them until they are bound to another one. */
export type RemoveCampaign = (scope: Scope, actor: Actor, id: string) => Promise<void>

type Needs = {
  db: Db
  clock: Clock
  announce: Announce
  registries: SmsRegistries
  forget: (orgId: string) => void
}

export const makeRemoveCampaign =
  ({ db, clock, announce, registries, forget }: Needs): RemoveCampaign =>
  async (scope, actor, id) => {
    const { orgId } = scope
    const row = await db.row(campaignStatements.find, { orgId, id })
    if (!row) throw new Failure('NOT_FOUND')
    assertOwnRow(scope, row)
    assertOwnEnvironment(scope, row)
    const { provider_id: providerId, environment } = row
    if (providerId !== null) {
      const removal = registries.of(environment)?.removeRegistration({ id, providerId })
      await orProviderUnavailable(removal ?? Promise.resolve())
    }
    await db.tx(async (tx) => {
      const removed = await tx.row(campaignStatements.delete, { orgId, id })
      if (!removed) throw new Failure('NOT_FOUND')
      const reason = 'The campaign was deleted.'
      const numbers = await tx.rows(unverifyNumbersOf, { orgId, campaignId: id, reason, at: clock.now() })
      await announce.change(tx, actor, 'removed', { ...campaignSubject(removed), reason: null })
      await announce.change(tx, actor, 'unverified', ...numbers.map(numberSubject))
    })
    forget(orgId)
  }
