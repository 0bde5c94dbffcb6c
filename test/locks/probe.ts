/** Measures how long each hot table is locked against writers, by trying to take the lock of a write every few milliseconds. */
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'

/** The longest time in milliseconds in which no writer got the lock, by table. */
export type Waits = Record<string, number>

const everyMs = 5
const lockNotAvailable = '55P03'

/** Two statements in one query are one transaction, which ends with the query. */
const canWrite = (client: pg.Client, table: string): Promise<boolean> =>
  client.query(`select 1; lock table ${table} in row exclusive mode nowait`).then(
    () => true,
    (error: { code?: string }) => {
      if (error.code !== lockNotAvailable) throw error
      return false
    },
  )

/** A writer that found the table locked would have waited until the first try that succeeds. */
const probeTable = async (url: string, table: string, isDone: () => boolean, waits: Waits): Promise<void> => {
  const client = new pg.Client(url)
  await client.connect()
  let lockedAt: number | undefined
  try {
    while (!isDone()) {
      const from = performance.now()
      if (!(await canWrite(client, table))) lockedAt ??= from
      else if (lockedAt !== undefined) {
        waits[table] = Math.max(waits[table] ?? 0, from - lockedAt)
        lockedAt = undefined
      } else waits[table] ??= 0
      await wait(everyMs)
    }
  } finally {
    await client.end()
  }
}

export const probeDuring = async (url: string, tables: string[], work: () => Promise<unknown>): Promise<Waits> => {
  const waits: Waits = {}
  let done = false
  const probing = Promise.all(tables.map((table) => probeTable(url, table, () => done, waits)))
  try {
    while (Object.keys(waits).length < tables.length) await wait(everyMs)
    await work()
    // The next try of each probe ends what is locked last.
    await wait(10 * everyMs)
  } finally {
    done = true
    await probing
  }
  return waits
}
