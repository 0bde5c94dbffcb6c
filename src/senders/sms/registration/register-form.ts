/** Registers a brand or a campaign that this process has claimed. Both are forms that the registry reviews. */
import type { Db } from '../../../platform/db/pool.ts'
import type { Statement } from '../../../platform/db/statement.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import type { Log } from '../../../platform/ground/log.ts'
import type { SmsRegistries } from '../../../providers/registry/open-sms-registry.ts'
import { type RegistrationEntry, RegistryFault, type SmsRegistry } from '../../../providers/registry/sms-registry.ts'
import type { brandStatements } from '../store/brand-rows.ts'
import type { RegistrationRow } from '../store/registration-rows.ts'

type SubmissionParams = NonNullable<(typeof brandStatements)['recordSubmission']['types']>['params']

type FormStatements<R> = Pick<typeof brandStatements, 'keepProviderId' | 'releaseClaim'> & {
  recordSubmission: Statement<SubmissionParams, R>
}

/** Returns the row afterwards: registered, or unchanged when the registry cannot be reached. */
export type RegisterForm<R> = (row: R) => Promise<R>

type Needs = { db: Db; clock: Clock; log: Log; registries: SmsRegistries }

type Form<R> = {
  statements: FormStatements<R>
  entryOf: (row: R) => RegistrationEntry | Promise<RegistrationEntry>
}

export const makeRegisterForm = <R extends RegistrationRow>(
  { db, clock, log, registries }: Needs,
  { statements, entryOf }: Form<R>,
): RegisterForm<R> => {
  const release = async (row: R): Promise<R> => {
    const { org_id: orgId, id, claimed_at } = row
    await db.change(statements.releaseClaim, { orgId, id, claimedAt: claimed_at as Date })
    return row
  }

  /** The row was deleted while it was being registered, so nobody would ever remove the registration. */
  const discard = async (registry: SmsRegistry, row: R, providerId: string): Promise<R> => {
    await registry.removeRegistration({ id: row.id, providerId })
    return row
  }

  const register = async (registry: SmsRegistry, row: R): Promise<R> => {
    const claim = { orgId: row.org_id, id: row.id, claimedAt: row.claimed_at as Date }
    const entry = await entryOf(row)
    let providerId = row.provider_id
    if (providerId === null) {
      providerId = await registry.open(entry)
      // Kept before the next call, so that an interrupted registration continues where it stopped.
      if (!(await db.row(statements.keepProviderId, { ...claim, providerId })))
        return discard(registry, row, providerId)
    }
    const { status, missing } = await registry.submit(entry, providerId)
    const recorded = await db.row(statements.recordSubmission, {
      ...claim,
      providerStatus: status,
      missing,
      at: clock.now(),
    })
    return recorded ?? discard(registry, row, providerId)
  }

  return async (row) => {
    const registry = registries.of(row.environment)
    if (!registry) return release(row)
    try {
      return await register(registry, row)
    } catch (error) {
      if (!(error instanceof RegistryFault)) throw error
      log.warn({ err: error, registration_id: row.id }, 'registration failed')
      return release(row)
    }
  }
}
