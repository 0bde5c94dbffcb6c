import type { Actor, Audit } from '../audit/append.ts'
import type { Db, Tx } from '../db/pool.ts'
import { Failure } from '../ground/errors.ts'
import type { Log } from '../ground/log.ts'
import type { Scope } from '../ground/scope.ts'
import type { Target } from './shapes.ts'
import { deleteSuppression, findByTarget, findSuppression, type SuppressionRow } from './store.ts'

export type RemoveSuppression = (
  scope: Scope,
  actor: Actor,
  named: { id: string } | Target,
) => Promise<{ id: string }>

/** `stop` and `complaint` are the recipient's own word and stay, whoever asks. */
const isProtected = (row: SuppressionRow): boolean => row.reason === 'stop' || row.reason === 'complaint'

type Needs = { db: Db; audit: Audit; log: Log }

export const makeRemoveSuppression = ({ db, audit, log }: Needs): RemoveSuppression => {
  const find = (tx: Tx, scope: Scope, named: { id: string } | Target) =>
    'id' in named
      ? // Found in the whole org first: a write to another tenant's row is refused, not hidden.
        tx.row(findSuppression, scope.orgId, null, named.id)
      : tx.row(findByTarget, scope.orgId, scope.tenantId, named.channel, named.value)

  const refuse = (scope: Scope, actor: Actor, row: SuppressionRow): never => {
    const by =
      actor.kind === 'key' ? { key_id: actor.keyId } : actor.kind === 'user' ? { user_id: actor.userId } : {}
    // Who is suppressed stays out of the log.
    const { id: suppression_id, channel, reason } = row
    log.warn({ org_id: scope.orgId, ...by, suppression_id, channel, reason }, 'suppression.remove_refused')
    throw new Failure('SUPPRESSION_PROTECTED')
  }

  return (scope, actor, named) =>
    db.tx(async (tx) => {
      const row = await find(tx, scope, named)
      if (!row) throw new Failure('NOT_FOUND')
      if (scope.tenantId !== null && row.tenant_id !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
      if (scope.environment === 'test' && row.created_environment === 'live') {
        throw new Failure('ENVIRONMENT_ESCALATION')
      }
      if (isProtected(row)) refuse(scope, actor, row)
      const gone = await tx.row(deleteSuppression, scope.orgId, row.id)
      if (!gone) {
        // Between the look and the delete it went, or a STOP escalated it.
        const left = await tx.row(findSuppression, scope.orgId, null, row.id)
        if (left) refuse(scope, actor, left)
        throw new Failure('NOT_FOUND')
      }
      const { channel, value, reason } = row
      await audit(tx, {
        ...{ orgId: scope.orgId, actor, action: 'suppression.removed', resourceType: 'suppression' },
        resourceId: row.id,
        metadata: { channel, value, reason },
      })
      return gone
    })
}
