/** Sends to an audience whose process is killed with SIGKILL, at each step. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/platform/ground/ids.ts'
import { startTidings, tidings } from '../service/command-line.ts'
import { makeTestDatabase, type TestDatabase } from '../service/database.ts'

let database: TestDatabase
let folder: string
let api: { child: ChildProcess; url: string }
let key = ''
let orgId = ''

const startApi = async (): Promise<{ child: ChildProcess; url: string }> => {
  const child = startTidings(['api'], { DATABASE_URL: database.url, DATA_DIR: folder, PORT: '0' })
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    const onData = (chunk: Buffer) => {
      output += chunk
      const found = output.match(/ready at (http:\S+)/)
      if (found) resolve(found[1] as string)
    }
    child.stdout?.on('data', onData)
    child.stderr?.on('data', onData)
    child.once('exit', (code) => reject(new Error(`exited with ${code}: ${output}`)))
  })
  return { child, url }
}

const call = async (path: string, body: object, headers: Record<string, string> = {}) => {
  const response = await fetch(`${api.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: JSON.parse(await response.text()) }
}

beforeAll(async () => {
  database = await makeTestDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tidings-blast-'))
  const args = ['ops', 'org', 'create', '--name', 'Killed', '--plan', 'enterprise', '--json']
  const made = await tidings(args, { DATABASE_URL: database.url })
  const { org, keys } = JSON.parse(made.stdout)
  orgId = org.id
  // A test key needs no verified domain.
  key = keys.test
  api = await startApi()
  const template = { slug: 'news', channel: 'email', subject: 'Hello', text: 'Dear {{name}}' }
  await call('/api/v1/templates', template)
  // Waits for the lock of the test when the row to this address is inserted.
  await database.sql(`create function wait_at_row() returns trigger language plpgsql as $$
    begin
      if new.to_addresses[1] = 'reader1100@reader.test' then perform pg_advisory_xact_lock(77); end if;
      return new;
    end $$`)
  await database.sql('create trigger wait_at_row before insert on messages for each row execute function wait_at_row()')
  await database.sql(`create function wait_at_end() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(78);
      return new;
    end $$`)
  await database.sql('create trigger wait_at_end before update on jobs for each row execute function wait_at_end()')
}, 60_000)
afterAll(async () => {
  api?.child.kill('SIGKILL')
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const insertAudience = async (): Promise<string> => {
  const id = newId('audience')
  const at = new Date()
  await database.sql(
    `insert into audiences (org_id, id, created_environment, name, slug, member_count, created_at, updated_at)
     values ($1, $2, 'live', 'News', $2, 1200, $3, $3)`,
    [orgId, id, at],
  )
  await database.sql(
    `insert into contacts (org_id, id, created_environment, name, email, created_at, updated_at)
     select $1, 'con_' || lpad(i::text, 26, '0'), 'live', 'Ada', 'reader' || i || '@reader.test', $2, $2
     from generate_series(0, 1199) as i on conflict do nothing`,
    [orgId, at],
  )
  await database.sql(
    'insert into audience_members (org_id, audience_id, contact_id, created_at) select $1, $2, id, $3 from contacts',
    [orgId, id, at],
  )
  return id
}

type Step = { name: string; hold: string; job: boolean; rows: number[] }

/** Each lock stops the service at one step. `rows` are the possible numbers of rows that landed. */
const steps: Step[] = [
  { name: 'while the members are read', hold: 'lock table contacts', job: false, rows: [0] },
  { name: 'before the job is committed', hold: 'lock table jobs in share mode', job: false, rows: [0] },
  { name: 'before the first rows', hold: 'lock table messages in share mode', job: true, rows: [0, 1_000] },
  { name: 'between two portions', hold: 'select pg_advisory_xact_lock(77)', job: true, rows: [1_000, 1_200] },
  { name: 'after the last row', hold: 'select pg_advisory_xact_lock(78)', job: true, rows: [1_200] },
]

const isWaiting = async (): Promise<boolean> =>
  (
    await database.sql(
      "select 1 from pg_stat_activity where datname = current_database() and application_name = 'tidings' and wait_event_type = 'Lock'",
    )
  ).length > 0

const untilServerIsIdle = () =>
  expect
    .poll(() =>
      database.sql(
        "select 1 from pg_stat_activity where datname = current_database() and application_name = 'tidings'",
      ),
    )
    .toEqual([])

const stored = async (audienceId: string) =>
  (
    await database.sql<{ jobs: number; rows: number; strays: number }>(
      `select (select count(*)::int from jobs where audience_id = $1) as jobs,
         (select count(*)::int from messages m join jobs j on j.id = m.job_id where j.audience_id = $1) as rows,
         (select count(*)::int from messages m where not exists (select from jobs j where j.id = m.job_id)) as strays`,
      [audienceId],
    )
  )[0] as { jobs: number; rows: number; strays: number }

test.each(steps)(
  'S-371 X-214 R-32 a send that is killed $name leaves nothing, or a job that a retry finds',
  async (step) => {
    const audienceId = await insertAudience()
    const send = () =>
      call(
        `/api/v1/audiences/${audienceId}/send`,
        { channel: 'email', from: 'hello@example.test', template: 'news' },
        { 'idempotency-key': audienceId },
      )
    const holder = new pg.Client({ connectionString: database.url, application_name: 'holder' })
    await holder.connect()
    await holder.query('begin')
    await holder.query(step.hold)
    const interrupted = send().catch(() => 'interrupted')
    await expect.poll(isWaiting).toBe(true)
    const killed = once(api.child, 'exit')
    api.child.kill('SIGKILL')
    await killed
    expect(await interrupted).toBe('interrupted')
    await holder.query('commit')
    await holder.end()
    await untilServerIsIdle()

    const after = await stored(audienceId)
    expect([after.jobs, after.strays]).toEqual([step.job ? 1 : 0, 0])
    expect(step.rows).toContain(after.rows)

    api = await startApi()
    expect((await send()).body.error.code).toBe('IDEMPOTENCY_IN_FLIGHT')
    expect(await stored(audienceId)).toEqual(after)
    await call('/api/dev/clock', { advance_seconds: 331 })
    const retried = await send()
    if (step.job) {
      const [job] = await database.sql<{ id: string }>('select id from jobs where audience_id = $1', [audienceId])
      expect([retried.status, retried.body.error]).toMatchObject([
        500,
        { code: 'AUDIENCE_SEND_INCOMPLETE', job_id: job?.id },
      ])
      expect(await stored(audienceId)).toEqual(after)
    } else {
      expect([retried.status, retried.body.scheduled]).toEqual([200, 1_200])
      expect(await stored(audienceId)).toEqual({ jobs: 1, rows: 1_200, strays: 0 })
    }
  },
  60_000,
)
