import { makeBatcher, unhurriedMs } from '../db/batch.ts'
import type { Db } from '../db/pool.ts'
import { findBlocked } from './store.ts'

export type Wanted = {
  orgId: string
  tenantId: string | null
  channel: 'email' | 'sms'
  /** As stored: addresses lower-cased, numbers in E.164. */
  values: string[]
  /** A broadcast is also held back by those who unsubscribed. */
  broadcast: boolean
}

/** Of the values, those that may not be written to: by the tenant's own list or the org's. */
export type FindSuppressed = (wanted: Wanted) => Promise<ReadonlySet<string>>

export const makeFindSuppressed = ({ db }: { db: Db }): FindSuppressed => {
  const lookups = makeBatcher<Wanted, ReadonlySet<string>>({
    name: 'suppressions.find_blocked',
    waitMs: unhurriedMs,
    run: async (batch) => {
      const flat = batch.flatMap((wanted, asker) =>
        wanted.values.map((value) => ({ ...wanted, value, asker })),
      )
      const rows = await db.rows(
        findBlocked,
        flat.map(({ orgId }) => orgId),
        flat.map(({ tenantId }) => tenantId),
        flat.map(({ channel }) => channel),
        flat.map(({ value }) => value),
        flat.map(({ broadcast }) => broadcast),
      )
      const found = batch.map(() => new Set<string>())
      for (const { ordinal } of rows) {
        const { asker, value } = flat[ordinal - 1] as (typeof flat)[number]
        found[asker]?.add(value)
      }
      return found
    },
  })
  return lookups.submit
}
