/** Which rows of its org a caller may change. */
import { Failure } from './errors.ts'
import { assertOwnEnvironment, type Environment, type Scope } from './scope.ts'

/** A tenant cannot change what belongs to another tenant or to the whole org. */
export const assertOwnTenant = ({ tenantId }: Pick<Scope, 'tenantId'>, of: string | null): void => {
  if (tenantId !== null && of !== tenantId) throw new Failure('TENANT_FORBIDDEN')
}

type Owned = { tenant_id: string | null; created_environment: Environment }

/** A tenant may change only its own rows. A test key may change only rows that a test key created. */
export const assertMayChange = <R extends Owned>(
  scope: Pick<Scope, 'tenantId' | 'environment'>,
  row: R | undefined,
): R => {
  if (!row) throw new Failure('NOT_FOUND')
  assertOwnTenant(scope, row.tenant_id)
  assertOwnEnvironment(scope, row.created_environment)
  return row
}
