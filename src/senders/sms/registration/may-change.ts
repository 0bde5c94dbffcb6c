import type { Db } from '../../../platform/db/pool.ts'
import type { Statement } from '../../../platform/db/statement.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { orNotFound } from '../../../platform/ground/or-not-found.ts'
import { assertOwnTenant } from '../../../platform/ground/own-rows.ts'
import { assertOwnEnvironment, type Environment, type Scope } from '../../../platform/ground/scope.ts'
import type { SmsRegistries } from '../../../providers/registry/open-sms-registry.ts'
import { RegistryFault } from '../../../providers/registry/sms-registry.ts'
import type { RegistrationRow, RowKey } from '../store/registration-rows.ts'

/** A tenant may change only its own rows. Brands and campaigns belong to the org. */
export const assertOwnRow = (scope: Scope, row: { id: string; tenant_id?: string | null }): void =>
  assertOwnTenant(scope, row.tenant_id ?? null)

/** The row, which the caller may change. */
export const findChangeable = async <R extends RegistrationRow>(
  db: Db,
  find: Statement<RowKey, R>,
  scope: Scope,
  id: string,
): Promise<R> => {
  const row = await orNotFound(db.row(find, { orgId: scope.orgId, id }))
  assertOwnRow(scope, row)
  assertOwnEnvironment(scope, row.environment)
  return row
}

/** Checked before a row is created: without a registry nobody could ever register it. */
export const assertRegistry = (registries: SmsRegistries, environment: Environment): void => {
  if (registries.of(environment)) return
  throw new Failure('PROVIDER_UNAVAILABLE', { message: 'The SMS provider of this installation has no registry.' })
}

/** Runs a call that must succeed before anything is stored. */
export const orProviderUnavailable = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof RegistryFault)) throw error
    throw new Failure('PROVIDER_UNAVAILABLE', { message: error.message, cause: error })
  }
}

/** Takes a brand or a campaign from the registry, if it has it. */
export const unregister = async (registries: SmsRegistries, row: RegistrationRow): Promise<void> => {
  const { id, provider_id: providerId, environment } = row
  if (providerId === null) return
  await orProviderUnavailable(registries.of(environment)?.removeRegistration({ id, providerId }) ?? Promise.resolve())
}
