/** `npm run locks`: applies each migration to tables of a million rows, and fails if one is locked too long. */
import { parseArgs } from 'node:util'
import pg from 'pg'
import { sayStarted, startOnlyOption } from '../../scripts/start-only.ts'
import { migrate, readMigrations } from '../../src/platform/db/migrate.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { silentLog } from '../../src/platform/ground/log.ts'
import { migrationsAt, missingCommit, previousCommit } from '../upgrade/previous-release.ts'
import { existingOf, fillNew, hotTables } from './fill.ts'
import { firstToJudge, NothingToJudge } from './first-to-judge.ts'
import { limitMs, measureMigration } from './measure.ts'
import { findPostgres, type Server, startServer } from './server.ts'

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, since: { type: 'string' }, ...startOnlyOption },
})
const wanted = Number(values.rows)
if (!Number.isSafeInteger(wanted) || wanted < 1_000) throw new Error('--rows must be a whole number from 1000')

const print = (line: string) => process.stdout.write(`${line}\n`)

/** An upgrade starts at the schema of the previous release or at a later one. */
const countEarlier = async (commit: string): Promise<number> => {
  const missing = await missingCommit(commit)
  if (missing !== undefined) throw new NothingToJudge(missing)
  return firstToJudge(commit, (await migrationsAt(commit)).length, (await readMigrations()).length)
}

const measureAll = async ({ url, hurry }: Server, first: number): Promise<number> => {
  const known = await readMigrations()
  const db = new pg.Pool({ connectionString: url, max: 2 })
  const connect = async () => {
    const client = new pg.Client(url)
    await client.connect()
    return client
  }
  await migrate({ connect, clock: systemClock, log: silentLog(), migrations: known.slice(0, first) })
  const filled = new Set<string>()
  let tooLong = 0
  for (let i = first; i < known.length; i++) {
    for (const table of await fillNew(db, filled, wanted)) {
      filled.add(table)
      print(`filled ${table} with ${wanted} rows`)
    }
    await hurry()
    const tables = await existingOf(db, hotTables)
    const { name, seconds, waitMs, table } = await measureMigration({ url, tables, known }, i)
    if (waitMs > limitMs) tooLong++
    const locked = table === '' ? 'locked no hot table' : `locked ${table} for ${waitMs.toFixed(0)} ms`
    print(`${name}: ${locked}, ${seconds.toFixed(1)} s in all`)
  }
  await db.end()
  return tooLong
}

const run = async (): Promise<number> => {
  const first = await countEarlier(values.since ?? (await previousCommit()))
  await findPostgres()
  if (values['start-only']) {
    sayStarted(`${(await readMigrations()).length - first} migrations to judge`)
    return 0
  }
  const server = await startServer()
  try {
    const tooLong = await measureAll(server, first)
    print(
      tooLong === 0 ? `no table was locked for more than ${limitMs} ms` : `${tooLong} migrations lock a table too long`,
    )
    return tooLong === 0 ? 0 : 1
  } finally {
    await server.stop()
  }
}

process.exitCode = await run().catch((error: unknown) => {
  if (!(error instanceof NothingToJudge)) throw error
  // Whether there is something to judge depends on the machine, and not on whether the command starts.
  if (values['start-only']) sayStarted(error.message)
  else process.stderr.write(`${error.message}\n`)
  return values['start-only'] ? 0 : 1
})
