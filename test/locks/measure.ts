/** Applies one migration and measures how long it locks the hot tables against writers. */
import pg from 'pg'
import { type Migration, migrate } from '../../src/platform/db/migrate.ts'
import { splitMigration } from '../../src/platform/db/split-migration.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { silentLog } from '../../src/platform/ground/log.ts'
import { probeDuring, type Waits } from './probe.ts'

export const limitMs = 100
/** Other programs on the machine can delay one attempt, but hardly four in a row. */
const rehearsals = 3

export type Measured = {
  name: string
  seconds: number
  /** The longest lock of a hot table in milliseconds, of the best attempt. */
  waitMs: number
  table: string
}

const longest = (waits: Waits): { waitMs: number; table: string } =>
  Object.entries(waits)
    .map(([table, waitMs]) => ({ table, waitMs }))
    .reduce((most, one) => (one.waitMs > most.waitMs ? one : most), { table: '', waitMs: 0 })

const connectTo = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client(url)
  await client.connect()
  return client
}

/** Runs what the migration does in its transaction, and rolls it back. */
const rehearse = async (url: string, { sql }: Migration): Promise<void> => {
  const client = await connectTo(url)
  try {
    const { sql: inTransaction } = await splitMigration(client, sql)
    await client.query('begin')
    await client.query(inTransaction)
    await client.query('rollback')
  } finally {
    await client.end()
  }
}

type Place = { url: string; tables: string[]; known: Migration[] }

export const measureMigration = async ({ url, tables, known }: Place, i: number): Promise<Measured> => {
  const migration = known[i] as Migration
  const from = performance.now()
  const apply = () =>
    migrate({ connect: () => connectTo(url), clock: systemClock, log: silentLog(), migrations: known.slice(0, i + 1) })
  let best = { waitMs: Number.POSITIVE_INFINITY, table: '' }
  for (let nth = 0; nth < rehearsals && best.waitMs > limitMs; nth++) {
    const attempt = longest(await probeDuring(url, tables, () => rehearse(url, migration)))
    if (attempt.waitMs < best.waitMs) best = attempt
  }
  const applied = longest(await probeDuring(url, tables, apply))
  const seconds = (performance.now() - from) / 1_000
  // The rehearsal leaves out the indexes that are built apart, so it counts only if those did not block either.
  const counted = applied.waitMs <= limitMs || best.waitMs > limitMs ? applied : best
  return { name: migration.name, seconds, ...counted }
}
