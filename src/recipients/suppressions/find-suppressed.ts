import type { Recipients } from '../../customers/usage/decide-reservations.ts'
import { makeStepBatcher } from '../../platform/db/batch.ts'
import type { Db, Runner } from '../../platform/db/pool.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import { findBlocked } from './store.ts'

export type SuppressionQuery = Recipients & { orgId: string; channel: Channel }

/** Returns the values that the list of the tenant or of the org suppresses. */
export type FindSuppressed = (query: SuppressionQuery) => Promise<ReadonlySet<string>>

const noValues: ReadonlySet<string> = new Set()

/** Looks up the values of several queries in one statement. */
export const findSuppressedAmong = async (
  runner: Pick<Runner, 'rows'>,
  queries: SuppressionQuery[],
): Promise<ReadonlySet<string>[]> => {
  const flat = queries.flatMap((query) => query.values.map((value) => ({ query, value })))
  const rows = await runner.rows(findBlocked, {
    orgIds: flat.map(({ query }) => query.orgId),
    tenantIds: flat.map(({ query }) => query.tenantId),
    channels: flat.map(({ query }) => query.channel),
    values: flat.map(({ value }) => value),
    broadcasts: flat.map(({ query }) => query.broadcast),
  })
  if (rows.length === 0) return queries.map(() => noValues)
  const found = new Map(queries.map((query) => [query, new Set<string>()]))
  for (const { ordinal } of rows) {
    const { query, value } = flat[ordinal - 1] as (typeof flat)[number]
    found.get(query)?.add(value)
  }
  return [...found.values()]
}

export const makeFindSuppressed = ({ db }: { db: Db }): FindSuppressed => {
  const lookups = makeStepBatcher<SuppressionQuery, ReadonlySet<string>>({
    name: 'suppressions.find_blocked',
    run: (batch) => findSuppressedAmong(db, batch),
  })
  return lookups.submit
}
