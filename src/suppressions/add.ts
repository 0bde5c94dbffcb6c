import { makeBatcher } from '../db/batch.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { newId } from '../ground/ids.ts'
import type { Scope } from '../ground/scope.ts'
import type { Target } from './shapes.ts'
import { findTargets, insertManual, type SuppressionRow } from './store.ts'

export type Added = { row: SuppressionRow; created: boolean }

/** Adds manual suppressions; one that is there already, whatever its reason, is returned unchanged. */
export type AddSuppressions = (scope: Scope, targets: Target[]) => Promise<Added[]>

type Asked = { scope: Scope; target: Target }

const nameOf = (orgId: string, tenantId: string | null, channel: string, value: string): string =>
  `${orgId} ${tenantId ?? ''} ${channel} ${value}`
const nameOfAsked = ({ scope, target }: Asked): string =>
  nameOf(scope.orgId, scope.tenantId, target.channel, target.value)

type Needs = { db: Db; clock: Clock }

export const makeAddSuppressions = ({ db, clock }: Needs): AddSuppressions => {
  const insert = async (asked: Asked[]): Promise<Added[]> => {
    const now = clock.now()
    const inserted = await db.rows(
      insertManual,
      asked.map((a) => a.scope.orgId),
      asked.map(() => newId('suppression', now.getTime())),
      asked.map((a) => a.scope.tenantId),
      asked.map((a) => a.target.channel),
      asked.map((a) => a.target.value),
      asked.map((a) => a.scope.environment),
      now,
    )
    const made = new Map(
      inserted.map((row) => [nameOf(row.org_id, row.tenant_id, row.channel, row.value), row]),
    )
    const known = await readKnown(asked.filter((a) => !made.has(nameOfAsked(a))))
    return asked.map((a) => {
      const name = nameOfAsked(a)
      const row = made.get(name)
      // A target named twice is created once: the first mention made it.
      made.delete(name)
      if (row) known.set(name, row)
      return { row: row ?? (known.get(name) as SuppressionRow), created: row !== undefined }
    })
  }

  const readKnown = async (asked: Asked[]): Promise<Map<string, SuppressionRow>> => {
    if (asked.length === 0) return new Map()
    const rows = await db.rows(
      findTargets,
      asked.map((a) => a.scope.orgId),
      asked.map((a) => a.scope.tenantId),
      asked.map((a) => a.target.channel),
      asked.map((a) => a.target.value),
    )
    const known = new Map<string, SuppressionRow>()
    for (const row of rows) known.set(nameOfAsked(asked[row.ordinal - 1] as Asked), row)
    // Deleted between the two statements: the caller wants it there, so it is made after all.
    const gone = asked.filter((a) => !known.has(nameOfAsked(a)))
    const remade = gone.length > 0 ? await insert(gone) : []
    remade.forEach(({ row }, i) => {
      known.set(nameOfAsked(gone[i] as Asked), row)
    })
    return known
  }

  const single = makeBatcher<Asked, Added>({ name: 'suppressions.add', run: insert })

  return async (scope, targets) => {
    const [only, ...others] = targets
    if (only && others.length === 0) return [await single.submit({ scope, target: only })]
    return insert(targets.map((target) => ({ scope, target })))
  }
}
