/** An export whose process is killed with SIGKILL. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/platform/ground/ids.ts'
import { startTidings, tidings } from '../service/command-line.ts'
import { makeTestDatabase, type TestDatabase } from '../service/database.ts'

let database: TestDatabase
let folder: string
const running = new Set<ChildProcess>()

beforeAll(async () => {
  database = await makeTestDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tidings-export-'))
})
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const startWorker = (): ChildProcess => {
  const env = { DATABASE_URL: database.url, DATA_DIR: folder, WORKER_PORT: '0' }
  const child = startTidings(['worker'], env)
  running.add(child)
  return child
}

const jobOf = async (id: string) =>
  (await database.sql('select status, attempts, file, rows from export_jobs where id = $1', [id]))[0] as {
    status: string
    attempts: number
    file: string | null
    rows: string
  }

const filesIn = async () => (await readdir(folder, { recursive: true })).filter((name) => name.includes('exports/'))

test('A-328 AD-133 an export that is killed half way is begun again, and its file is whole', async () => {
  const args = ['ops', 'org', 'create', '--name', 'Killed', '--plan', 'pro', '--json']
  const { org } = JSON.parse((await tidings(args, { DATABASE_URL: database.url })).stdout)
  const many = 2_000
  await database.sql(
    `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address, to_addresses,
       text)
     select $1, 'msg_' || g, $2, 'live', 'none', 'email', 'sent', 'a@b.test', array[g || '@example.com'], repeat('x', 500)
     from generate_series(1, $3::int) g`,
    [org.id, new Date(), many],
  )
  const id = newId('exportJob')
  const insert = `insert into export_jobs (org_id, id, status, created_at, due_at) values ($1, $2, 'queued', $3, $3)`
  await database.sql(insert, [org.id, id, new Date()])

  // Templates for India come after messages, so the messages are written when the worker waits for them.
  const blocker = new pg.Client({ connectionString: database.url })
  await blocker.connect()
  await blocker.query('begin')
  await blocker.query('lock table dlt_templates in access exclusive mode')
  const first = startWorker()
  const waiting = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like 'copy%"type":"dlt_template"%'`
  await expect.poll(() => database.sql(waiting), { timeout: 60_000 }).toHaveLength(1)
  first.kill('SIGKILL')
  await once(first, 'exit')
  await blocker.query('rollback')
  await blocker.end()
  expect(await jobOf(id)).toMatchObject({ status: 'running', attempts: 1, file: null })

  // The claim of the dead worker ends.
  await database.sql('update export_jobs set due_at = created_at where id = $1', [id])
  const second = startWorker()
  await expect.poll(async () => (await jobOf(id)).status, { timeout: 60_000 }).toBe('completed')
  second.kill('SIGTERM')
  await once(second, 'exit')
  const { file, attempts, rows } = await jobOf(id)
  expect(attempts).toBe(2)
  const name = (await filesIn()).find((one) => one.endsWith(file as string))
  const lines = (await readFile(join(folder, name as string), 'utf8')).trimEnd().split('\n')
  const types = lines.map((line) => JSON.parse(line).type as string)
  expect(types.filter((type) => type === 'message')).toHaveLength(many)
  expect(lines).toHaveLength(Number(rows) + 1)
}, 180_000)
