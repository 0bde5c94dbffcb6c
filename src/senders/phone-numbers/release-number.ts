import type { Actor } from '../../audit/append.ts'
import type { Db } from '../../db/pool.ts'
import { Failure } from '../../ground/errors.ts'
import type { Scope } from '../../ground/scope.ts'
import type { SmsRegistries } from '../../providers/registry/open-sms-registry.ts'
import type { Announce } from '../registration/announce.ts'
import { assertOwnEnvironment, assertOwnRow, orProviderUnavailable } from '../registration/may-change.ts'
import { numberSubject } from '../registration/subject.ts'
import { phoneNumberStatements } from '../store/phone-number-rows.ts'

/** Scheduled messages from the number fail when they are due. */
export type ReleaseNumber = (scope: Scope, actor: Actor, id: string) => Promise<void>

type Needs = { db: Db; announce: Announce; registries: SmsRegistries; forget: (orgId: string) => void }

export const makeReleaseNumber =
  ({ db, announce, registries, forget }: Needs): ReleaseNumber =>
  async (scope, actor, id) => {
    const key = { orgId: scope.orgId, id }
    const row = await db.row(phoneNumberStatements.find, key)
    if (!row) throw new Failure('NOT_FOUND')
    assertOwnRow(scope, row)
    assertOwnEnvironment(scope, row)
    const { provider_id: providerId, environment, kind } = row
    if (providerId !== null && kind === 'number') {
      await orProviderUnavailable(registries.of(environment)?.release({ id, providerId }) ?? Promise.resolve())
    }
    await db.tx(async (tx) => {
      const released = await tx.row(phoneNumberStatements.delete, key)
      if (!released) throw new Failure('NOT_FOUND')
      await announce.change(tx, actor, 'released', { ...numberSubject(released), reason: null })
    })
    forget(scope.orgId)
  }
