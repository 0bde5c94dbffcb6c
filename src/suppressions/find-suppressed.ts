import { makeStepBatcher } from '../db/batch.ts'
import type { Db } from '../db/pool.ts'
import type { Channel } from '../ground/channel.ts'
import { findBlocked } from './store.ts'

export type Wanted = {
  orgId: string
  tenantId: string | null
  channel: Channel
  /** As stored: addresses lower-cased, numbers in E.164. */
  values: string[]
  /** A broadcast is also held back by those who unsubscribed. */
  broadcast: boolean
}

/** Of the values, those that may not be written to: by the tenant's own list or the org's. */
export type FindSuppressed = (wanted: Wanted) => Promise<ReadonlySet<string>>

const nobody: ReadonlySet<string> = new Set()

export const makeFindSuppressed = ({ db }: { db: Db }): FindSuppressed => {
  const lookups = makeStepBatcher<Wanted, ReadonlySet<string>>({
    name: 'suppressions.find_blocked',
    run: async (batch) => {
      const flat = batch.flatMap((wanted) => wanted.values.map((value) => ({ wanted, value })))
      const rows = await db.rows(findBlocked, {
        orgIds: flat.map(({ wanted }) => wanted.orgId),
        tenantIds: flat.map(({ wanted }) => wanted.tenantId),
        channels: flat.map(({ wanted }) => wanted.channel),
        values: flat.map(({ value }) => value),
        broadcasts: flat.map(({ wanted }) => wanted.broadcast),
      })
      if (rows.length === 0) return batch.map(() => nobody)
      const found = new Map(batch.map((wanted) => [wanted, new Set<string>()]))
      for (const { ordinal } of rows) {
        const { wanted, value } = flat[ordinal - 1] as (typeof flat)[number]
        found.get(wanted)?.add(value)
      }
      return [...found.values()]
    },
  })
  return lookups.submit
}
