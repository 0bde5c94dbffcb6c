import type { Actor, Audit } from '../../journal/audit/append.ts'
import { entryAbout } from '../../journal/audit/entry-about.ts'
import { makeBatcher } from '../../platform/db/batch.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import type { SuppressionTarget } from './shapes.ts'
import { findTargets, insertManual, promoteToLive, type SuppressionRow } from './store.ts'

export type Added = { row: SuppressionRow; created: boolean }

/** Adds manual suppressions. An existing suppression is returned unchanged, whatever its reason. */
export type AddSuppressions = (scope: Scope, actor: Actor, targets: SuppressionTarget[]) => Promise<Added[]>

type Existing = SuppressionRow & { ordinal: number }
type Addition = { scope: Scope; actor: Actor; target: SuppressionTarget }

const keyOf = (orgId: string, tenantId: string | null, channel: string, value: string): string =>
  `${orgId} ${tenantId ?? ''} ${channel} ${value}`
const keyOfAddition = ({ scope, target }: Addition): string =>
  keyOf(scope.orgId, scope.tenantId, target.channel, target.value)

const targetsOf = (additions: Addition[]) => ({
  orgIds: additions.map(({ scope }) => scope.orgId),
  tenantIds: additions.map(({ scope }) => scope.tenantId),
  channels: additions.map(({ target }) => target.channel),
  values: additions.map(({ target }) => target.value),
})

export const makeAddSuppressions = ({ db, clock, audit }: { db: Db; clock: Clock; audit: Audit }): AddSuppressions => {
  const auditCreated = (tx: Tx, additions: Addition[], added: Added[]): Promise<void> => {
    const entries = added.flatMap(({ row, created }, i) => {
      if (!created) return []
      const { scope, actor } = additions[i] as Addition
      const { id, channel, value, reason } = row
      const about = entryAbout(scope.orgId, actor, 'suppression', id)
      return [{ ...about, action: 'suppression.added' as const, metadata: { channel, value, reason } }]
    })
    return audit(tx, ...entries)
  }

  const addAll = (additions: Addition[]): Promise<Added[]> =>
    db.tx(async (tx) => {
      const added = await insert(tx, additions)
      await auditCreated(tx, additions, added)
      return added
    })

  const insert = async (tx: Tx, additions: Addition[]): Promise<Added[]> => {
    const now = clock.now()
    const rows = await tx.rows(insertManual, {
      ...targetsOf(additions),
      ids: additions.map(() => newId('suppression', now.getTime())),
      sources: additions.map(({ actor }) => (actor.kind === 'user' ? 'dashboard' : 'api')),
      environments: additions.map(({ scope }) => scope.environment),
      at: now,
    })
    const inserted = new Map(rows.map((row) => [keyOf(row.org_id, row.tenant_id, row.channel, row.value), row]))
    const existing = await findExisting(
      tx,
      additions.filter((addition) => !inserted.has(keyOfAddition(addition))),
    )
    return additions.map((addition) => {
      const key = keyOfAddition(addition)
      const row = inserted.get(key)
      // Only the first of duplicate targets counts as created.
      inserted.delete(key)
      if (row) existing.set(key, row)
      return { row: row ?? (existing.get(key) as SuppressionRow), created: row !== undefined }
    })
  }

  const findExisting = async (tx: Tx, additions: Addition[]): Promise<Map<string, SuppressionRow>> => {
    if (additions.length === 0) return new Map()
    const found = await tx.rows(findTargets, targetsOf(additions))
    const existing = new Map<string, SuppressionRow>()
    for (const row of await promote(tx, additions, found)) {
      existing.set(keyOfAddition(additions[row.ordinal - 1] as Addition), row)
    }
    // Rows that were deleted between the two statements are inserted again.
    const deleted = additions.filter((addition) => !existing.has(keyOfAddition(addition)))
    const reinserted = deleted.length > 0 ? await insert(tx, deleted) : []
    reinserted.forEach(({ row }, i) => {
      existing.set(keyOfAddition(deleted[i] as Addition), row)
    })
    return existing
  }

  /** Promotes test-mode rows that a live key adds. Omits rows that were deleted meanwhile. */
  const promote = async (tx: Tx, additions: Addition[], rows: Existing[]): Promise<Existing[]> => {
    const scopeOf = (row: Existing): Scope => (additions[row.ordinal - 1] as Addition).scope
    const testRows = rows.filter((row) => row.created_environment === 'test' && scopeOf(row).environment === 'live')
    if (testRows.length === 0) return rows
    const promoted = await tx.rows(promoteToLive, {
      orgIds: testRows.map((row) => scopeOf(row).orgId),
      ids: testRows.map((row) => row.id),
    })
    const promotedIds = new Set(promoted.map(({ id }) => id))
    return rows.filter((row) => !testRows.includes(row) || promotedIds.has(row.id))
  }

  const single = makeBatcher<Addition, Added>({ name: 'suppressions.add', run: addAll })

  return async (scope, actor, targets) => {
    const [only, ...others] = targets
    if (only && others.length === 0) return [await single.submit({ scope, actor, target: only })]
    return addAll(targets.map((target) => ({ scope, actor, target })))
  }
}
