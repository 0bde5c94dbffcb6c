import type { Actor, Audit } from '../audit/append.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import type { Log } from '../ground/log.ts'
import type { Scope } from '../ground/scope.ts'
import type { SuppressionTarget } from './shapes.ts'
import { findByTarget, findSuppression, removeSuppression, type SuppressionRow } from './store.ts'

/** By id, by target or by both, which then have to name one row. */
export type ToRemove = { id?: string; target?: SuppressionTarget }

/** A bounce or manual suppression over an unsubscribe leaves the unsubscribe. */
export type RemoveSuppression = (scope: Scope, actor: Actor, named: ToRemove) => Promise<{ id: string }>

/** `stop` and `complaint` are the recipient's own word and stay, whoever asks. */
const isProtected = (row: SuppressionRow): boolean => row.reason === 'stop' || row.reason === 'complaint'

type Needs = { db: Db; clock: Clock; audit: Audit; log: Log }

export const makeRemoveSuppression = ({ db, clock, audit, log }: Needs): RemoveSuppression => {
  const findTarget = (tx: Tx, { orgId, tenantId }: Scope, target: SuppressionTarget) =>
    tx.row(findByTarget, { orgId, tenantId, channel: target.channel, value: target.value })

  const find = async (tx: Tx, scope: Scope, { id, target }: ToRemove): Promise<SuppressionRow> => {
    const row =
      id === undefined
        ? target && (await findTarget(tx, scope, target))
        : // Found in the whole org first: a write to another tenant's row is refused, not hidden.
          await tx.row(findSuppression, { orgId: scope.orgId, tenantId: null, id })
    if (!row) throw new Failure('NOT_FOUND')
    if (scope.tenantId !== null && row.tenant_id !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
    if (id !== undefined && target && (await findTarget(tx, scope, target))?.id !== row.id) {
      throw new Failure('QUERY_BODY_CONFLICT')
    }
    return row
  }

  const refuse = (scope: Scope, actor: Actor, row: SuppressionRow): never => {
    const by = actor.kind === 'key' ? { key_id: actor.keyId } : actor.kind === 'user' ? { user_id: actor.userId } : {}
    // Who is suppressed stays out of the log.
    const { id: suppression_id, channel, reason } = row
    log.warn({ org_id: scope.orgId, ...by, suppression_id, channel, reason }, 'suppression.remove_refused')
    throw new Failure('SUPPRESSION_PROTECTED')
  }

  /** Removes what it finds, and returns the row as it was found. */
  const take = async (tx: Tx, scope: Scope, actor: Actor, named: ToRemove): Promise<SuppressionRow> => {
    const { orgId, environment } = scope
    const row = await find(tx, scope, named)
    if (environment === 'test' && row.created_environment === 'live') {
      throw new Failure('ENVIRONMENT_ESCALATION')
    }
    if (isProtected(row)) refuse(scope, actor, row)
    if (await tx.change(removeSuppression, { orgId, id: row.id, reason: row.reason, environment, at: clock.now() }))
      return row
    const left = await tx.row(findSuppression, { orgId, tenantId: null, id: row.id })
    // Another removal was first. What it left is not what this one was asked to remove.
    if (!left || left.reason === 'unsubscribe') throw new Failure('NOT_FOUND')
    // A stronger cause was first, and is judged anew.
    return take(tx, scope, actor, { id: row.id })
  }

  return (scope, actor, named) =>
    db.tx(async (tx) => {
      const { id, channel, value, reason } = await take(tx, scope, actor, named)
      await audit(tx, {
        orgId: scope.orgId,
        actor,
        action: 'suppression.removed',
        resourceType: 'suppression',
        resourceId: id,
        metadata: { channel, value, reason },
      })
      return { id }
    })
}
