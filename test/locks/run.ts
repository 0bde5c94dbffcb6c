/** `npm run locks`: applies each migration to tables of a million rows, and fails if one is locked too long. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import pg from 'pg'
import { migrate, readMigrations } from '../../src/db/migrate.ts'
import { systemClock } from '../../src/ground/clock.ts'
import { silentLog } from '../../src/ground/log.ts'
import { existingOf, fillNew, hotTables } from './fill.ts'
import { limitMs, measureMigration } from './measure.ts'
import { type Server, startServer } from './server.ts'

const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } })
const wanted = Number(values.rows)
if (!Number.isSafeInteger(wanted) || wanted < 1_000) throw new Error('--rows must be a whole number from 1000')

const print = (line: string) => process.stdout.write(`${line}\n`)
const root = join(import.meta.dirname, '..', '..')

/** An upgrade starts at the schema of the previous release or at a later one. */
const migrationsOfPreviousRelease = async (): Promise<number> => {
  const commit = (await readFile(join(root, 'test/upgrade/previous-release'), 'utf8')).trim()
  const args = ['ls-tree', '--name-only', commit, 'src/db/migrations/']
  const { stdout } = await promisify(execFile)('git', args, { cwd: root })
  return stdout.trim().split('\n').length
}

const measureAll = async ({ url, hurry }: Server): Promise<number> => {
  const known = await readMigrations()
  const first = await migrationsOfPreviousRelease()
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

const server = await startServer()
try {
  const tooLong = await measureAll(server)
  print(
    tooLong === 0 ? `no table was locked for more than ${limitMs} ms` : `${tooLong} migrations lock a table too long`,
  )
  process.exitCode = tooLong === 0 ? 0 : 1
} finally {
  await server.stop()
}
