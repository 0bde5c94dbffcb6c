import type { Actor, Audit } from '../audit/append.ts'
import { makeBatcher } from '../db/batch.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { newId } from '../ground/ids.ts'
import type { Scope } from '../ground/scope.ts'
import type { SuppressionTarget } from './shapes.ts'
import { findTargets, insertManual, makeLive, type SuppressionRow } from './store.ts'

export type Added = { row: SuppressionRow; created: boolean }

/** Adds manual suppressions; one that is there already, whatever its reason, is returned unchanged. */
export type AddSuppressions = (scope: Scope, actor: Actor, targets: SuppressionTarget[]) => Promise<Added[]>

type Known = SuppressionRow & { ordinal: number }
type Asked = { scope: Scope; actor: Actor; target: SuppressionTarget }

const nameOf = (orgId: string, tenantId: string | null, channel: string, value: string): string =>
  `${orgId} ${tenantId ?? ''} ${channel} ${value}`
const nameOfAsked = ({ scope, target }: Asked): string =>
  nameOf(scope.orgId, scope.tenantId, target.channel, target.value)

type Needs = { db: Db; clock: Clock; audit: Audit }

export const makeAddSuppressions = ({ db, clock, audit }: Needs): AddSuppressions => {
  const record = (tx: Tx, asked: Asked[], added: Added[]): Promise<void> =>
    audit(
      tx,
      ...added.flatMap(({ row, created }, i) => {
        const { scope, actor } = asked[i] as Asked
        if (!created) return []
        const { id: resourceId, channel, value, reason } = row
        const metadata = { channel, value, reason }
        const entry = { orgId: scope.orgId, actor, resourceType: 'suppression', resourceId, metadata }
        return [{ ...entry, action: 'suppression.added' as const }]
      }),
    )

  const insertAndRecord = (asked: Asked[]): Promise<Added[]> =>
    db.tx(async (tx) => {
      const added = await insert(tx, asked)
      await record(tx, asked, added)
      return added
    })

  const insert = async (tx: Tx, asked: Asked[]): Promise<Added[]> => {
    const now = clock.now()
    const inserted = await tx.rows(insertManual, {
      orgIds: asked.map((a) => a.scope.orgId),
      ids: asked.map(() => newId('suppression', now.getTime())),
      tenantIds: asked.map((a) => a.scope.tenantId),
      channels: asked.map((a) => a.target.channel),
      values: asked.map((a) => a.target.value),
      environments: asked.map((a) => a.scope.environment),
      at: now,
    })
    const made = new Map(inserted.map((row) => [nameOf(row.org_id, row.tenant_id, row.channel, row.value), row]))
    const known = await readKnown(
      tx,
      asked.filter((a) => !made.has(nameOfAsked(a))),
    )
    return asked.map((a) => {
      const name = nameOfAsked(a)
      const row = made.get(name)
      // A target named twice is created once: the first mention made it.
      made.delete(name)
      if (row) known.set(name, row)
      return { row: row ?? (known.get(name) as SuppressionRow), created: row !== undefined }
    })
  }

  const readKnown = async (tx: Tx, asked: Asked[]): Promise<Map<string, SuppressionRow>> => {
    if (asked.length === 0) return new Map()
    const rows = await tx.rows(findTargets, {
      orgIds: asked.map((a) => a.scope.orgId),
      tenantIds: asked.map((a) => a.scope.tenantId),
      channels: asked.map((a) => a.target.channel),
      values: asked.map((a) => a.target.value),
    })
    const taken = await takeOver(tx, asked, rows)
    const known = new Map<string, SuppressionRow>()
    for (const row of taken) known.set(nameOfAsked(asked[row.ordinal - 1] as Asked), row)
    // Deleted between the two statements: the caller wants it there, so it is made after all.
    const gone = asked.filter((a) => !known.has(nameOfAsked(a)))
    const remade = gone.length > 0 ? await insert(tx, gone) : []
    remade.forEach(({ row }, i) => {
      known.set(nameOfAsked(gone[i] as Asked), row)
    })
    return known
  }

  /** Rows a test key made become those of the live key that adds them too. Leaves out what was deleted meanwhile. */
  const takeOver = async (tx: Tx, asked: Asked[], rows: Known[]): Promise<Known[]> => {
    const scopeOf = (row: Known): Scope => (asked[row.ordinal - 1] as Asked).scope
    const tried = rows.filter((row) => row.created_environment === 'test' && scopeOf(row).environment === 'live')
    if (tried.length === 0) return rows
    const made = await tx.rows(makeLive, {
      orgIds: tried.map((row) => scopeOf(row).orgId),
      ids: tried.map((row) => row.id),
    })
    const left = new Set(made.map(({ id }) => id))
    return rows.filter((row) => !tried.includes(row) || left.has(row.id))
  }

  const single = makeBatcher<Asked, Added>({ name: 'suppressions.add', run: insertAndRecord })

  return async (scope, actor, targets) => {
    const [only, ...others] = targets
    if (only && others.length === 0) return [await single.submit({ scope, actor, target: only })]
    return insertAndRecord(targets.map((target) => ({ scope, actor, target })))
  }
}
