import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { migrate } from '../../src/platform/db/migrate.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { silentLog } from '../../src/platform/ground/log.ts'
import { watchNameOf } from '../../src/platform/replica/watch-replica.ts'
import { directory } from '../clients/directory-client.ts'
import { askWith, memberCookie } from '../clients/people.ts'
import { mailer } from '../clients/submission-client.ts'
import { webhookClient } from '../clients/webhook-client.ts'
import { type LogFile, openLogFile } from '../service/log-file.ts'
import { startTestService, type TestService } from '../service/service.ts'
import { findPrograms, type ReplicatedServer, startReplicatedServer } from './replicated-server.ts'

const programs = findPrograms()

/** A service whose replica can be paused and killed. Its marks of writes are in memory, also when the suite has Redis. */
const startService = async (server: ReplicatedServer, log: LogFile): Promise<TestService> => {
  const { primary, replica } = server
  const connect = async () => {
    const client = new pg.Client(primary.url)
    await client.connect()
    return client
  }
  await migrate({ connect, clock: systemClock, log: silentLog() })
  const env = {
    DATABASE_URL: primary.url,
    DATABASE_READ_URL: replica.url,
    DATABASE_READ_MAX_LAG_MS: '60000',
    REDIS_URL: '',
    SMTP_SUBMISSION_PORT: '0',
    WEBHOOK_ALLOW_INSECURE: 'true',
  }
  const database = {
    url: primary.url,
    sql: primary.sql,
    prepared: async <R>(_name: string, text: string) => primary.sql<R>(text),
    backgroundWrites: [],
    drop: async () => undefined,
  }
  return startTestService({ database, env, log: log.log })
}

const onReplicatedServer = (folder: string): void => {
  let server: ReplicatedServer
  let log: LogFile
  let t: TestService

  beforeAll(async () => {
    server = await startReplicatedServer(folder)
    log = await openLogFile()
    t = await startService(server, log)
  })
  afterAll(async () => {
    await t?.stop()
    await server?.stop()
    await log?.remove()
  })

  const pause = async (): Promise<void> => {
    await server.replica.sql('select pg_wal_replay_pause()')
    await expect
      .poll(() => server.replica.sql('select pg_get_wal_replay_pause_state() as state'))
      .toEqual([{ state: 'paused' }])
  }
  const resume = () => server.replica.sql('select pg_wal_replay_resume()')
  afterEach(() => resume().catch(() => undefined))

  const metric = async (name: string): Promise<number> => {
    const { text } = await t.ask('GET', '/metrics')
    const line = text.split('\n').find((found) => found.startsWith(`${name} `))
    return Number(line?.split(' ')[1] ?? 0)
  }
  const readsOn = (target: string) => metric(`database_reads_total{target="${target}"}`)

  /** Whether a read went to the replica, and its result. */
  const targetOf = async <T>(read: () => Promise<T>): Promise<{ target: string; result: T }> => {
    const before = await readsOn('replica')
    const result = await read()
    return { target: (await readsOn('replica')) > before ? 'replica' : 'primary', result }
  }

  const emailsOf = async (key: string): Promise<string[]> => {
    const { status, body } = await t.ask('GET', '/api/v1/suppressions', { key })
    expect(status).toBe(200)
    return body.data.map(({ value }: { value: string }) => value)
  }
  const suppress = (key: string, value: string) =>
    t.ask('POST', '/api/v1/suppressions', { key, body: { channel: 'email', value } })

  const untilOnReplica = (key: string) =>
    expect.poll(async () => (await targetOf(() => emailsOf(key))).target).toBe('replica')

  /** A write that no request makes, such as one of the worker. */
  const insertSuppression = (orgId: string, email: string) =>
    server.primary.sql(
      `insert into suppressions
         (org_id, id, channel, value, reason, source, created_environment, created_at, updated_at)
       values ($1, $2, 'email', $3, 'bounce', 'provider', 'live', $4, $4)`,
      [orgId, newId('suppression'), email, t.service.clock.now()],
    )

  test('An org that has just written reads its write from the primary until the replica has it, and other orgs read from the replica', async () => {
    const [writer, reader] = [await t.org(), await t.org({ name: 'Reader' })]
    const [key, otherKey] = [await t.key(writer.org.id), await t.key(reader.org.id)]
    await untilOnReplica(key)
    await untilOnReplica(otherKey)
    await pause()
    expect((await suppress(key, 'a@example.test')).status).toBe(201)
    await insertSuppression(reader.org.id, 'late@example.test')
    for (let i = 0; i < 5; i++) {
      expect(await targetOf(() => emailsOf(key))).toEqual({ target: 'primary', result: ['a@example.test'] })
      // It is a moment behind, which its own requests cannot notice.
      expect(await targetOf(() => emailsOf(otherKey))).toEqual({ target: 'replica', result: [] })
    }
    expect(await metric('database_replica_lag_seconds')).toBeGreaterThan(0)
    await resume()
    await untilOnReplica(key)
    expect(await emailsOf(key)).toEqual(['a@example.test'])
    await expect.poll(() => emailsOf(otherKey)).toEqual(['late@example.test'])
    await expect.poll(() => metric('database_replica_lag_seconds')).toBe(0)
  })

  test('A person of the dashboard reads their own write, and a refused request counts as a write', async () => {
    const { org } = await t.org()
    const cookie = await memberCookie(t, org.id, 'owner')
    const names = async () => {
      const { body } = await askWith(t, cookie, 'GET', '/api/internal/projects')
      return body.data.map(({ name }: { name: string }) => name)
    }
    await expect.poll(async () => (await targetOf(names)).target).toBe('replica')
    await pause()
    // Without a write there is nothing that the replica could lack.
    await insertSuppression(org.id, 'later@example.test')
    const write = (body: object) => askWith(t, cookie, 'POST', '/api/internal/projects', { body })
    expect((await write({})).status).toBe(422)
    expect((await targetOf(names)).target).toBe('primary')
    expect((await write({ name: 'Rocket', slug: 'rocket' })).status).toBe(201)
    const { target, result } = await targetOf(names)
    expect([target, result.includes('Rocket')]).toEqual(['primary', true])
  })

  /** Pauses the replica, and lets it miss a write of nobody, so that only orgs without a mark read from it. */
  const targetAfter = async (orgId: string, write: () => Promise<unknown>): Promise<string> => {
    const key = await t.key(orgId)
    await untilOnReplica(key)
    await pause()
    await insertSuppression(orgId, 'missed@example.test')
    expect(await targetOf(() => emailsOf(key))).toEqual({ target: 'replica', result: [] })
    await write()
    return (await targetOf(() => emailsOf(key))).target
  }

  test('A message over SMTP counts as a write', async () => {
    const { org, keys } = await t.org()
    const send = mailer(t.service.submissionPort() as number, keys.test)
    const mail = { from: 'a@example.test', to: 'b@example.test', subject: 'Hi', text: 'Hello.' }
    expect(await targetAfter(org.id, () => send(mail))).toBe('primary')
  })

  test('A request of the directory counts as a write', async () => {
    const { orgId, ask } = await directory(t)
    const write = async () => expect((await ask('POST', '/Users', {})).status).toBe(400)
    expect(await targetAfter(orgId, write)).toBe('primary')
  })

  test('A read that creates its tenant counts as a write', async () => {
    const { org, keys } = await t.org()
    const write = async () => {
      const { status, body } = await t.ask('GET', '/api/v1/suppressions', {
        key: keys.live,
        headers: { 'x-service-tenant-ref': 'new-one' },
      })
      expect([status, body.data]).toEqual([200, []])
    }
    expect(await targetAfter(org.id, write)).toBe('primary')
    const key = await t.key(org.id)
    const tenants = await targetOf(async () => (await t.ask('GET', '/api/v1/tenants', { key })).body.data.length)
    expect(tenants).toEqual({ target: 'primary', result: 1 })
  })

  test('The receiver of a webhook reads what the event is about', async () => {
    const created = await t.org()
    const hooks = webhookClient(t, created)
    const seen: string[] = []
    const key = await t.key(created.org.id)
    await hooks.made({ events: ['message.sent'] }, async (_, response) => {
      seen.push((await targetOf(() => emailsOf(key))).target)
      response.end()
    })
    await targetAfter(created.org.id, async () => {
      await hooks.emit()
      await hooks.run()
    })
    expect(seen).toEqual(['primary'])
  })

  test('An export reads everything that was committed before it, from the replica if that keeps its rows', async () => {
    const { org } = await t.org()
    const cookie = await memberCookie(t, org.id, 'owner')
    const download = async () => (await askWith(t, cookie, 'GET', '/api/internal/org/export')).text
    await insertSuppression(org.id, 'exported@example.test')
    const before = await targetOf(download)
    expect([before.target, before.result.includes('exported@example.test')]).toEqual(['primary', true])
    await server.replica.sql('alter system set hot_standby_feedback = on')
    await server.replica.sql('select pg_reload_conf()')
    await expect.poll(async () => (await targetOf(download)).target).toBe('replica')
    await insertSuppression(org.id, 'now@example.test')
    const after = await targetOf(download)
    expect([after.target, after.result.includes('now@example.test')]).toEqual(['replica', true])
  })

  test('Every read that a route offers works on the replica, without a statement that only the primary can run', async () => {
    const { org } = await t.org()
    const key = await t.key(org.id)
    const cookie = await memberCookie(t, org.id, 'owner')
    await untilOnReplica(key)
    const before = await metric('database_replica_faults_total')
    const readsBefore = await readsOn('replica')
    const fill = ({ path, params }: { path: string; params?: Record<string, Parameters<typeof newId>[0]> }): string =>
      path.replace(/\{(\w+)\}/g, (_, name) => (params?.[name] ? newId(params[name]) : '0'))
    const own = t.service.routes.filter(({ method }) => method === 'GET')
    const dashboard = t.service.dashboardRoutes.filter(({ method }) => method === 'GET')
    expect(own.length + dashboard.length).toBeGreaterThan(80)
    const replies = await Promise.all([
      ...own.map((route) => t.ask('GET', `/api/v1${fill(route)}`, { key })),
      ...dashboard.map((route) => askWith(t, cookie, 'GET', fill(route))),
    ])
    expect(replies.filter(({ status }) => status === 500)).toEqual([])
    expect(await readsOn('replica')).toBeGreaterThan(readsBefore + 60)
    expect(await metric('database_replica_faults_total')).toBe(before)
  })

  test('Without Redis, reads go to the primary while another service watches the same database', async () => {
    const key = await t.key((await t.org()).org.id)
    await untilOnReplica(key)
    const other = new pg.Client({ connectionString: server.primary.url, application_name: watchNameOf('0123') })
    await other.connect()
    await expect.poll(async () => (await targetOf(() => emailsOf(key))).target).toBe('primary')
    await other.end()
    await untilOnReplica(key)
  })

  test('A replica that is killed and started again is noticed by no request', async () => {
    const { org } = await t.org()
    const key = await t.key(org.id)
    await suppress(key, 'b@example.test')
    await untilOnReplica(key)
    const warnings = async () =>
      (await log.lines('requests do not read from the replica')).filter(
        ({ reason }) => reason === 'it cannot be reached',
      )
    const before = (await warnings()).length
    let running = true
    const replies: unknown[] = []
    const load = Array.from({ length: 4 }, async () => {
      while (running) replies.push(await emailsOf(key))
    })
    await server.replica.kill()
    await expect.poll(async () => (await targetOf(() => emailsOf(key))).target).toBe('primary')
    expect((await t.ask('GET', '/readyz')).status).toBe(200)
    await server.replica.start()
    await expect.poll(() => readsOn('replica')).toBeGreaterThan(await readsOn('replica'))
    running = false
    await Promise.all(load)
    expect(new Set(replies.map((reply) => JSON.stringify(reply)))).toEqual(new Set(['["b@example.test"]']))
    expect((await warnings()).length).toBe(before + 1)
  })
}

if (programs === undefined) {
  test('Reads from a replica', (context) => context.skip('PostgreSQL is not installed: apt-get install postgresql'))
} else describe('Reads from a replica', () => onReplicatedServer(programs))
