import { Failure } from '../../ground/errors.ts'
import type { Environment, Scope } from '../../ground/scope.ts'
import type { SmsRegistries } from '../../providers/registry/open-sms-registry.ts'
import { RegistryError } from '../../providers/registry/sms-registry.ts'

type Owned = { environment: Environment; tenant_id?: string | null }

/** A tenant may change only its own rows. Brands and campaigns belong to the org. */
export const assertOwnRow = ({ tenantId }: Scope, row: Owned): void => {
  if (tenantId !== null && (row.tenant_id ?? null) !== tenantId) throw new Failure('TENANT_FORBIDDEN')
}

/** A test key may change only what a test key registered. */
export const assertOwnEnvironment = ({ environment }: Scope, row: Owned): void => {
  if (environment === 'test' && row.environment === 'live') throw new Failure('ENVIRONMENT_ESCALATION')
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
    if (!(error instanceof RegistryError)) throw error
    throw new Failure('PROVIDER_UNAVAILABLE', { message: error.message, cause: error })
  }
}
