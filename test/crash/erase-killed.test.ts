/** Erasures whose process is killed with SIGKILL. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/platform/ground/ids.ts'
import { trailOf } from '../audit/trail.ts'
import { startTidings, tidings } from '../service/command-line.ts'
import { makeTestDatabase, type TestDatabase } from '../service/database.ts'

let database: TestDatabase
let folder: string
const running = new Set<ChildProcess>()

beforeAll(async () => {
  database = await makeTestDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tidings-erase-'))
})
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
})
afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const startApi = async (): Promise<{ child: ChildProcess; url: string }> => {
  const child = startTidings(['api'], { DATABASE_URL: database.url, DATA_DIR: folder, PORT: '0' })
  running.add(child)
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

const createOrg = async () => {
  const args = ['ops', 'org', 'create', '--name', 'Killed', '--plan', 'pro', '--json']
  const { stdout } = await tidings(args, { DATABASE_URL: database.url })
  const { org, keys } = JSON.parse(stdout)
  const calls = async (base: string, method: string, path: string, body?: object) => {
    const response = await fetch(`${base}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${keys.live}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  return { org, calls }
}

/** PostgreSQL may still be running the last statement of a killed service. */
const untilServerIsIdle = () =>
  expect
    .poll(() =>
      database.sql(
        "select 1 from pg_stat_activity where datname = current_database() and application_name = 'tidings'",
      ),
    )
    .toEqual([])

test('A-282 X-126 AD-107 An erasure that is killed half way completes when it is requested again', async () => {
  const { org, calls } = await createOrg()
  const first = await startApi()
  const { body: tenant } = await calls(first.url, 'POST', '/tenants', {
    name: 'Doomed',
    external_ref: 'Doom',
  })
  await calls(first.url, 'POST', `/tenants/${tenant.id}/suspend`)
  const many = 3_000
  const rows = Array.from({ length: many + 2 }, (_, i) => i)
  await database.sql(
    `insert into suppressions
       (org_id, id, tenant_id, channel, value, reason, source, created_environment, created_at, updated_at)
     select $1, id, $2, 'email', value, reason, 'provider', 'live', $6, $6
     from unnest($3::text[], $4::text[], $5::text[]) as r (id, value, reason)`,
    [
      org.id,
      tenant.id,
      rows.map(() => newId('suppression')),
      rows.map((i) => `doomed${i}@example.com`),
      rows.map((i) => (i < many ? 'manual' : i === many ? 'stop' : 'complaint')),
      new Date(),
    ],
  )
  // Slow enough that the kill happens while many rows are left.
  await database.sql(`create function linger() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.0005); return old; end $$`)
  await database.sql('create trigger linger before delete on suppressions for each row execute function linger()')
  const left = async () => Number((await database.sql<{ n: string }>('select count(*) as n from suppressions'))[0]?.n)
  const tenantRow = async () =>
    (await database.sql('select status, external_ref, erased_at, erasure from tenants where id = $1', [tenant.id]))[0]
  const events = () =>
    database.sql('select event, tenant_id, environment, data from events where org_id = $1', [org.id])

  const interrupted = calls(first.url, 'POST', `/tenants/${tenant.id}/erase`).catch(() => 'interrupted')
  await expect.poll(left, { interval: 20 }).toBeLessThan(many + 2)
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  expect(await interrupted).toBe('interrupted')
  await untilServerIsIdle()
  const remaining = await left()
  expect(remaining).toBeGreaterThan(2)
  expect(await tenantRow()).toMatchObject({ status: 'suspended', external_ref: 'doom', erased_at: null })
  expect(await events()).toEqual([])

  const second = await startApi()
  const back = await calls(second.url, 'POST', `/tenants/${tenant.id}/unsuspend`)
  expect([back.status, back.body.error.code]).toEqual([409, 'TENANT_ERASED'])
  await database.sql('drop function linger cascade')
  const counts = { messages_redacted: 0, message_events_deleted: 0, contacts_deleted: 0, inbound_deleted: 0 }
  const done = await calls(second.url, 'POST', `/tenants/${tenant.id}/erase`)
  expect(done).toEqual({
    status: 200,
    body: { id: tenant.id, status: 'erased', erased_at: expect.any(String), ...counts },
  })
  expect(await calls(second.url, 'POST', `/tenants/${tenant.id}/erase`)).toEqual(done)
  const kept = await database.sql('select reason from suppressions order by reason')
  expect(kept).toEqual([{ reason: 'complaint' }, { reason: 'stop' }])
  expect(await tenantRow()).toMatchObject({ status: 'erased', external_ref: null, erasure: counts })
  expect(await events()).toEqual([
    expect.objectContaining({
      event: 'tenant.erased',
      tenant_id: tenant.id,
      environment: null,
      data: { tenant_id: tenant.id, external_ref: 'doom', ...counts },
    }),
  ])
  const actions = (await trailOf(database, org.id)).map((row) => row.action)
  expect(actions).toEqual(['tenant.created', 'tenant.suspended', 'tenant.erased'])
}, 90_000)

test('A-282 AD-107 Messages and their events are counted once each even if the erasure is killed between them', async () => {
  const { org, calls } = await createOrg()
  const first = await startApi()
  const { body: tenant } = await calls(first.url, 'POST', '/tenants', { name: 'Doomed too' })
  await calls(first.url, 'POST', `/tenants/${tenant.id}/suspend`)
  const many = 3_000
  await database.sql(
    `insert into messages (org_id, id, created_at, tenant_id, environment, project_id, channel, status, from_address,
       to_addresses, text)
     select $1, 'msg_' || g, $3, $2, 'live', 'none', 'email', 'sent', 'a@b.test', array[g || '@private.test'], 'private'
     from generate_series(1, $4::int) g`,
    [org.id, tenant.id, new Date(), many],
  )
  await database.sql(
    `insert into message_events (org_id, id, at, message_id, tenant_id, environment, channel, kind, recipient)
     select $1, 'evt_' || g, $3, 'msg_' || g, $2, 'live', 'email', 'delivered', g || '@private.test'
     from generate_series(1, $4::int) g`,
    [org.id, tenant.id, new Date(), many],
  )
  // Slow enough that the kills happen while many rows are left.
  await database.sql(`create function linger() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.0005); return case tg_op when 'DELETE' then old else new end; end $$`)
  await database.sql('create trigger linger before update on messages for each row execute function linger()')
  await database.sql('create trigger linger before delete on message_events for each row execute function linger()')
  const left = async () =>
    (
      await database.sql<{ messages: number; events: number }>(
        `select (select count(*)::int from messages where to_addresses <> '{}' and org_id = $1) as messages,
           (select count(*)::int from message_events where org_id = $1) as events`,
        [org.id],
      )
    )[0] as { messages: number; events: number }

  const killWhen = async (service: Awaited<ReturnType<typeof startApi>>, what: 'messages' | 'events') => {
    const interrupted = calls(service.url, 'POST', `/tenants/${tenant.id}/erase`).catch(() => 'interrupted')
    await expect.poll(async () => (await left())[what], { interval: 20 }).toBeLessThan(many)
    service.child.kill('SIGKILL')
    await once(service.child, 'exit')
    expect(await interrupted).toBe('interrupted')
    await untilServerIsIdle()
    expect((await left())[what]).toBeGreaterThan(0)
  }
  await killWhen(first, 'messages')
  await killWhen(await startApi(), 'events')
  await database.sql('drop function linger cascade')

  const last = await startApi()
  const done = await calls(last.url, 'POST', `/tenants/${tenant.id}/erase`)
  const counts = {
    messages_redacted: many,
    message_events_deleted: many,
    contacts_deleted: 0,
    inbound_deleted: 0,
  }
  expect(done).toMatchObject({ status: 200, body: { status: 'erased', ...counts } })
  expect(await calls(last.url, 'POST', `/tenants/${tenant.id}/erase`)).toEqual(done)
  expect(await left()).toEqual({ messages: 0, events: 0 })
  const events = await database.sql('select event, data from events where org_id = $1', [org.id])
  expect(events).toEqual([{ event: 'tenant.erased', data: { tenant_id: tenant.id, external_ref: null, ...counts } }])
}, 90_000)
