import type { Db } from '../db/pool.ts'
import { Failure } from '../ground/errors.ts'
import type { Scope } from '../ground/scope.ts'
import type { Target } from './shapes.ts'
import { deleteSuppression, findByTarget, findSuppression, type SuppressionRow } from './store.ts'

export type RemoveSuppression = (scope: Scope, named: { id: string } | Target) => Promise<{ id: string }>

/** `stop` and `complaint` are the recipient's own word and stay, whoever asks. */
const isProtected = (row: SuppressionRow): boolean => row.reason === 'stop' || row.reason === 'complaint'

export const makeRemoveSuppression =
  ({ db }: { db: Db }): RemoveSuppression =>
  async (scope, named) => {
    const row =
      'id' in named
        ? // Found in the whole org first: a write to another tenant's row is refused, not hidden.
          await db.row(findSuppression, scope.orgId, null, named.id)
        : await db.row(findByTarget, scope.orgId, scope.tenantId, named.channel, named.value)
    if (!row) throw new Failure('NOT_FOUND')
    if (scope.tenantId !== null && row.tenant_id !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
    if (scope.environment === 'test' && row.created_environment === 'live') {
      throw new Failure('ENVIRONMENT_ESCALATION')
    }
    if (isProtected(row)) throw new Failure('SUPPRESSION_PROTECTED')
    const gone = await db.row(deleteSuppression, scope.orgId, row.id)
    if (gone) return gone
    const left = await db.row(findSuppression, scope.orgId, scope.tenantId, row.id)
    throw new Failure(left ? 'SUPPRESSION_PROTECTED' : 'NOT_FOUND')
  }
