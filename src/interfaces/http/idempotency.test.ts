import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { interrupt } from '../../../test/clients/interrupt.ts'
import { type Reply, startTestService, type TestService } from '../../../test/service/service.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { byKey, defineRoute, type PublicRoute } from './route.ts'

let t: TestService
let acme: CreatedOrg

let runs = 0
let pause: Promise<void> | undefined
let started: (() => void) | undefined

/** A POST that counts its runs and that a test can pause or make fail. */
const effect = (path: string): PublicRoute =>
  defineRoute('POST', path, byKey('send:email'), {
    tag: 'Probe',
    summary: 'Has an effect',
    idempotent: true,
    body: z.object({ n: z.number(), fail: z.boolean().optional(), items: z.array(z.number()).optional() }).loose(),
    responses: { 200: { schema: z.any(), description: 'Done.' } },
    handle: async ({ body }) => {
      runs++
      started?.()
      await pause
      if (body.fail) throw new Failure('SUPPRESSED')
      const items = body.items?.map((n, index) =>
        n % 2 === 0
          ? { index, id: `msg_${runs}_${index}`, status: 'sent', error: null }
          : {
              index,
              id: null,
              status: 'failed',
              error: { code: 'SUPPRESSED', message: 'Suppressed.' },
            },
      )
      return { status: 200, body: { run: runs, ...(items && { data: items }) } }
    },
  })

beforeAll(async () => {
  t = await startTestService({ routes: () => [effect('/probe/effect'), effect('/probe/other-effect')] })
  acme = await t.org()
})
afterAll(() => t.stop())

const send = (
  key: string,
  body: unknown,
  options: { as?: string; path?: string; headers?: Record<string, string> } = {},
) =>
  t.ask('POST', `/api/v1${options.path ?? '/probe/effect'}`, {
    key: options.as ?? acme.keys.live,
    body,
    headers: { 'idempotency-key': key, ...options.headers },
  })
const refusal = (reply: Reply) => [reply.status, reply.body?.error?.code]
const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })
const stored = (key: string) =>
  t.database.sql(
    `select org_id, tenant_id, environment, key, fingerprint, claim, locked_until, status, body, created_at, expires_at
     from idempotency_keys where key = $1`,
    [key],
  )

/** Starts a request that stays in progress until `release` is called. */
const sendPaused = async (key: string, body: unknown) => {
  let release: () => void = () => undefined
  pause = new Promise((resolve) => {
    release = resolve
  })
  const begun = new Promise<void>((resolve) => {
    started = resolve
  })
  const response = send(key, body)
  await begun
  pause = undefined
  started = undefined
  return { response, release }
}

describe('a request that was interrupted', () => {
  test('S-017 X-213 keeps its key until its process is gone', async () => {
    await send('interrupted', { n: 1 })
    const held = newId('request')
    await t.database.sql(
      `update idempotency_keys set status = null, process_id = $1, locked_until = $2 where key = 'interrupted'`,
      [held, new Date(t.service.clock.millis() + 330_000)],
    )
    await t.database.sql('insert into service_processes values ($1, 1, $2)', [held, new Date()])
    const { round } = t.service.modules.processes
    await round()
    const reply = await send('interrupted', { n: 1 })
    expect([...refusal(reply), reply.headers['retry-after']]).toEqual([409, 'IDEMPOTENCY_IN_FLIGHT', '1'])
    await t.database.sql('update service_processes set beats = -1 where id = $1', [held])
    await round()
    const before = runs
    expect((await send('interrupted', { n: 1 })).status).toBe(200)
    expect(runs).toBe(before + 1)
  })

  test('S-017 is repeated once by several requests at the same time', async () => {
    await send('raced', { n: 1 })
    await interrupt(t, 'raced')
    const before = runs
    const replies = await Promise.all(Array.from({ length: 8 }, () => send('raced', { n: 1 })))
    expect(runs).toBe(before + 1)
    expect(replies.map(({ status }) => status).every((status) => status === 200 || status === 409)).toBe(true)
  })
})

describe('an idempotency key', () => {
  test('S-014 can be any printable ASCII string of up to 255 characters, and an empty header counts as absent', async () => {
    for (const key of ['1', 'order #42, retry', '0b7e1c0e-0000-4000-8000-000000000000', '~'.repeat(255)]) {
      const first = await send(key, { n: 1 })
      expect([first.status, (await send(key, { n: 1 })).body]).toEqual([200, first.body])
    }
    for (const key of ['~'.repeat(256), 'caf\u00e9', 'tab\there']) {
      const reply = await send(key, { n: 1 })
      expect(refusal(reply)).toEqual([422, 'VALIDATION_ERROR'])
      expect(reply.body.error.errors).toEqual([
        {
          path: ['headers', 'Idempotency-Key'],
          code: 'custom',
          message: 'Must be 1 to 255 printable ASCII characters.',
        },
      ])
    }
    const before = runs
    await send('', { n: 1 })
    await send('', { n: 1 })
    expect(runs).toBe(before + 2)
  })

  test('S-015 X-343 a retry within the window returns the recorded response without a second effect', async () => {
    const first = await send('retry', { n: 1, text: 'ü' })
    const before = runs
    const again = await send('retry', { text: 'ü', n: 1 })
    expect(runs).toBe(before)
    expect([again.status, again.text]).toEqual([first.status, first.text])
    expect(first.headers['idempotent-replayed']).toBe(undefined)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id'])
    await advance(24 * 3600 - 60)
    expect((await send('retry', { n: 1, text: 'ü' })).text).toBe(first.text)
    await advance(120)
    const fresh = await send('retry', { n: 1, text: 'ü' })
    expect(fresh.headers['idempotent-replayed']).toBe(undefined)
    expect(runs).toBe(before + 1)
  })

  test('S-016 X-210 reused with a different body or route returns 409 IDEMPOTENCY_MISMATCH', async () => {
    await send('mismatch', { n: 1 })
    const before = runs
    const replies = [
      await send('mismatch', { n: 2 }),
      await send('mismatch', { n: 1, extra: true }),
      await send('mismatch', { n: 1 }, { path: '/probe/other-effect' }),
    ]
    expect(replies.map(refusal)).toEqual(new Array(3).fill([409, 'IDEMPOTENCY_MISMATCH']))
    expect(replies[0]?.body.error.type).toBe('validation_error')
    expect(runs).toBe(before)
    expect((await send('mismatch', { n: 1 })).headers['idempotent-replayed']).toBe('true')
  })

  test('matches the same route under /v1 and with a query', async () => {
    const first = await send('alias', { n: 1 })
    const alias = await t.ask('POST', '/v1/probe/effect?x=1', {
      key: acme.keys.live,
      body: { n: 1 },
      headers: { 'idempotency-key': 'alias' },
    })
    expect(alias.text).toBe(first.text)
  })

  test('S-017 X-212 a retry while the first request runs returns 409 IDEMPOTENCY_IN_FLIGHT', async () => {
    const { response, release } = await sendPaused('flight', { n: 1 })
    const before = runs
    const retry = await send('flight', { n: 1 })
    expect(refusal(retry)).toEqual([409, 'IDEMPOTENCY_IN_FLIGHT'])
    expect(retry.body.error.type).toBe('rate_limit_error')
    expect(refusal(await send('flight', { n: 2 }))).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
    release()
    const first = await response
    expect(first.status).toBe(200)
    expect((await send('flight', { n: 1 })).text).toBe(first.text)
    expect(runs).toBe(before)
  })

  test('S-017 lets only one of many concurrent requests run', async () => {
    const before = runs
    const replies = await Promise.all(Array.from({ length: 40 }, () => send('storm', { n: 1 })))
    expect(runs).toBe(before + 1)
    const done = replies.filter((reply) => reply.status === 200)
    expect(done.length).toBeGreaterThan(0)
    expect(new Set(done.map((reply) => reply.text)).size).toBe(1)
    for (const reply of replies)
      if (reply.status !== 200) expect(refusal(reply)).toEqual([409, 'IDEMPOTENCY_IN_FLIGHT'])
  })

  test('X-213 stays locked for 330 seconds after its request died', async () => {
    await send('died', { n: 1 })
    // The state that a process leaves when it is killed between claim and response.
    await t.database.sql(
      "update idempotency_keys set status = null, body = null, locked_until = $1 where key = 'died'",
      [new Date(t.service.clock.millis() + 330_000)],
    )
    const before = runs
    await advance(320)
    expect(refusal(await send('died', { n: 1 }))).toEqual([409, 'IDEMPOTENCY_IN_FLIGHT'])
    expect(runs).toBe(before)
    await advance(11)
    expect((await send('died', { n: 1 })).status).toBe(200)
    expect(runs).toBe(before + 1)
    expect((await send('died', { n: 1 })).headers['idempotent-replayed']).toBe('true')
  })

  test('X-213 is locked for 330 seconds by a claim and unlocked by the recorded response', async () => {
    const { response, release } = await sendPaused('lock', { n: 1 })
    const [row] = await stored('lock')
    const ahead = (row as { locked_until: Date }).locked_until.getTime() - t.service.clock.millis()
    expect(ahead).toBeGreaterThan(325_000)
    expect(ahead).toBeLessThanOrEqual(330_000)
    release()
    await response
    expect((await stored('lock'))[0]).toMatchObject({ locked_until: null, status: 200 })
  })

  test('is released by an error, so that a corrected request can use it', async () => {
    expect(refusal(await send('freed', { n: 1, fail: true }))).toEqual([422, 'SUPPRESSED'])
    expect(await stored('freed')).toEqual([])
    expect((await send('freed', { n: 1 })).status).toBe(200)
  })

  test('is not claimed by an invalid request', async () => {
    expect(refusal(await send('schema', { n: 'one' }))).toEqual([422, 'VALIDATION_ERROR'])
    expect(await stored('schema')).toEqual([])
  })

  test('S-018 is separate for each org, tenant and environment', async () => {
    const other = await t.org({ name: 'Other' })
    const tenantId = await t.tenant(acme.org.id)
    const callers = [
      acme.keys.live,
      acme.keys.test,
      other.keys.live,
      await t.key(acme.org.id, { tenantId }),
      await t.key(acme.org.id, { tenantId, environment: 'test' }),
    ]
    const replies = []
    for (const [n, as] of callers.entries()) replies.push(await send('shared', { n }, { as }))
    expect(replies.map((reply) => reply.status)).toEqual(callers.map(() => 200))
    expect(new Set(replies.map((reply) => reply.text)).size).toBe(callers.length)
    for (const [n, as] of callers.entries()) expect((await send('shared', { n }, { as })).text).toBe(replies[n]?.text)
    const second = await t.key(acme.org.id)
    expect((await send('shared', { n: 0 }, { as: second })).text).toBe(replies[0]?.text)
  })

  test('S-019 S-020 is used by the routes that declare it, such as all email sends, and ignored elsewhere', async () => {
    const body = { channel: 'email', value: 'honoured@example.com' }
    const first = await send('honoured', body, { path: '/suppressions' })
    expect(first.status).toBe(201)
    const again = await send('honoured', body, { path: '/suppressions' })
    expect([again.status, again.text]).toEqual([201, first.text])
    const idempotentRoutes = t.service.routes.filter(
      ({ idempotent, path }) => idempotent && !path.startsWith('/probe/'),
    )
    expect(idempotentRoutes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'POST /audiences/{id}/send',
      'POST /brands',
      'POST /campaigns',
      'POST /emails',
      'POST /emails/batch',
      'POST /phone-numbers',
      'POST /sms',
      'POST /sms/batch',
      'POST /suppressions',
      'POST /verifications',
    ])
    const read = await t.ask('GET', '/api/v1/suppressions', {
      key: acme.keys.live,
      headers: { 'idempotency-key': 'honoured' },
    })
    expect([read.status, read.headers['idempotent-replayed']]).toEqual([200, undefined])
  })

  test('S-021 replays the result of each batch item unchanged, including failed items', async () => {
    const body = { n: 1, items: [2, 3, 4, 5] }
    const first = await send('batch', body)
    expect(first.body.data.map((item: { status: string }) => item.status)).toEqual(['sent', 'failed', 'sent', 'failed'])
    const before = runs
    const again = await send('batch', body)
    expect([again.status, again.text, runs]).toEqual([200, first.text, before])
  })

  test('is stored with a hash of the request, not its body', async () => {
    await send('hashed', { n: 1, secret: 'hunter2' })
    const [row] = await stored('hashed')
    expect(row?.fingerprint).toEqual(
      createHash('sha256').update('POST /api/v1/probe/effect\n{"n":1,"secret":"hunter2"}').digest(),
    )
    expect(JSON.stringify(row)).not.toContain('hunter2')
  })

  test('is deleted by retention after its window, and not before', async () => {
    await send('old', { n: 1 })
    await advance(25 * 3600)
    await send('young', { n: 1 })
    const { response, release } = await sendPaused('running', { n: 1 })
    const reply = await t.ask('POST', '/api/dev/run', { body: { task: 'retention' } })
    expect(reply.body).toMatchObject({ task: 'retention' })
    expect(reply.body.counts.idempotency_keys_deleted).toBeGreaterThan(0)
    expect(await stored('old')).toEqual([])
    expect(await stored('young')).toHaveLength(1)
    expect(await stored('running')).toHaveLength(1)
    release()
    await response
  })
})

describe('when claiming a key fails', () => {
  const sendWithoutClaims = async (env: Record<string, string>) => {
    const service = await startTestService({
      routes: () => [effect('/probe/effect')],
      env,
      config: { baseUrl: undefined },
    })
    const { keys } = await service.org()
    // Only the claim fails: its connection breaks, as if the database server went away.
    await service.database.sql(`create function cut() returns trigger language plpgsql as $$
      begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`)
    await service.database.sql('create trigger cut before insert on idempotency_keys execute function cut()')
    const reply = await service.ask('POST', '/api/v1/probe/effect', {
      key: keys.live,
      body: { n: 1 },
      headers: { 'idempotency-key': 'k' },
    })
    await service.stop()
    return reply
  }

  test('X-215 in production the request returns IDEMPOTENCY_IN_FLIGHT instead of running without a lock', async () => {
    const before = runs
    const reply = await sendWithoutClaims({
      NODE_ENV: 'production',
      SERVICE_DOMAIN: 'tidings.example',
      MASTER_KEY: randomBytes(32).toString('base64'),
      EMAIL_PROVIDER: 'ses',
      BASE_URL: 'https://api.tidings.example',
    })
    expect(refusal(reply)).toEqual([409, 'IDEMPOTENCY_IN_FLIGHT'])
    expect(runs).toBe(before)
  })

  test('X-215 outside production the request runs without a lock', async () => {
    const before = runs
    expect((await sendWithoutClaims({})).status).toBe(200)
    expect(runs).toBe(before + 1)
  })
})
