import type { Actor, Audit } from '../../journal/audit/append.ts'
import { entryAbout } from '../../journal/audit/entry-about.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Log } from '../../platform/ground/log.ts'
import { assertOwnTenant } from '../../platform/ground/own-rows.ts'
import { assertOwnEnvironment, type Scope } from '../../platform/ground/scope.ts'
import type { SuppressionTarget } from './shapes.ts'
import { findByTarget, findSuppression, removeSuppression, type SuppressionRow } from './store.ts'

/** An id, a target, or both. If both are set they must identify the same row. */
export type ToRemove = { id?: string; target?: SuppressionTarget }

/** Removing a bounce or a manual suppression restores an earlier unsubscribe of the same recipient. */
export type RemoveSuppression = (scope: Scope, actor: Actor, toRemove: ToRemove) => Promise<{ id: string }>

/** `stop` and `complaint` come from the recipient and can never be removed. */
export const isProtected = (row: Pick<SuppressionRow, 'reason'>): boolean =>
  row.reason === 'stop' || row.reason === 'complaint'

type Needs = { db: Db; clock: Clock; audit: Audit; log: Log }

export const makeRemoveSuppression = ({ db, clock, audit, log }: Needs): RemoveSuppression => {
  const findTarget = (tx: Tx, { orgId, tenantId }: Scope, target: SuppressionTarget) =>
    tx.row(findByTarget, { orgId, tenantId, channel: target.channel, value: target.value })

  const find = async (tx: Tx, scope: Scope, { id, target }: ToRemove): Promise<SuppressionRow> => {
    const row =
      id === undefined
        ? target && (await findTarget(tx, scope, target))
        : // Searches the whole org, because a write to another tenant's row returns TENANT_FORBIDDEN, not NOT_FOUND.
          await tx.row(findSuppression, { orgId: scope.orgId, tenantId: null, id })
    if (!row) throw new Failure('NOT_FOUND')
    assertOwnTenant(scope, row.tenant_id)
    if (id !== undefined && target && (await findTarget(tx, scope, target))?.id !== row.id) {
      throw new Failure('QUERY_BODY_CONFLICT')
    }
    return row
  }

  const rejectProtected = (scope: Scope, actor: Actor, row: SuppressionRow): never => {
    const by = actor.kind === 'key' ? { key_id: actor.keyId } : actor.kind === 'user' ? { user_id: actor.userId } : {}
    // The suppressed address is not logged.
    const { id: suppression_id, channel, reason } = row
    log.warn({ org_id: scope.orgId, ...by, suppression_id, channel, reason }, 'suppression.remove_refused')
    throw new Failure('SUPPRESSION_PROTECTED')
  }

  /** Removes the suppression and returns its row as it was before. */
  const removeFound = async (tx: Tx, scope: Scope, actor: Actor, toRemove: ToRemove): Promise<SuppressionRow> => {
    const { orgId, environment } = scope
    const row = await find(tx, scope, toRemove)
    assertOwnEnvironment(scope, row.created_environment)
    if (isProtected(row)) rejectProtected(scope, actor, row)
    if (await tx.change(removeSuppression, { orgId, id: row.id, reason: row.reason, environment, at: clock.now() }))
      return row
    const current = await tx.row(findSuppression, { orgId, tenantId: null, id: row.id })
    // A concurrent removal came first. An unsubscribe that it restored was not the target of this request.
    if (!current || current.reason === 'unsubscribe') throw new Failure('NOT_FOUND')
    // The row has a different cause by now, so all checks apply again.
    return removeFound(tx, scope, actor, { id: row.id })
  }

  return (scope, actor, toRemove) =>
    db.tx(async (tx) => {
      const { id, channel, value, reason } = await removeFound(tx, scope, actor, toRemove)
      const about = entryAbout(scope.orgId, actor, 'suppression', id)
      await audit(tx, { ...about, action: 'suppression.removed', metadata: { channel, value, reason } })
      return { id }
    })
}
