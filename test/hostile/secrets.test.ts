import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { Modules } from '../../src/app/wiring/routes.ts'
import { mintKey } from '../../src/customers/keys/key-secret.ts'
import { byKey, defineRoute, type PublicRoute } from '../../src/interfaces/http/route.ts'
import { statement } from '../../src/platform/db/statement.ts'
import { Failure } from '../../src/platform/ground/errors.ts'
import { makeLog } from '../../src/platform/ground/log.ts'
import { testService } from '../service/service.ts'
import { exchange, write } from './wire.ts'

const body = z.object({ how: z.string(), text: z.string() })
const readsNumber = statement<{ text: string }, { n: number }>('test.reads_number', 'select (:text::text)::int as n')

/** A route that fails in every possible way. */
const breaks = ({ db }: Modules): PublicRoute =>
  defineRoute('POST', '/probe/breaks', byKey('send:email'), {
    tag: 'Probe',
    summary: 'Fails',
    idempotent: true,
    body,
    responses: { 200: { schema: z.object({}), description: 'Never.' } },
    handle: async ({ body: { how, text } }) => {
      if (how === 'error') throw new Error('its own message', { cause: new Error('its own cause') })
      if (how === 'value') throw { text: 'its own value' }
      if (how === 'failure') throw new Failure('INTERNAL_ERROR', { cause: new Error('a hidden cause') })
      if (how === 'database') await db.row(readsNumber, { text })
      return { status: 200, body: {} }
    },
  })

/** A service that logs everything to a file, and a function that reads the file. */
const loggingService = async (format: 'json' | 'pretty') => {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-log-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const destination = join(folder, 'log')
  const log = makeLog({ level: 'trace', format, destination })
  const t = await testService({ log, routes: (modules) => [breaks(modules)] })
  /** Returns everything logged so far. The pretty log is a stream, so this logs a last line and waits for it. */
  const lines = async (): Promise<string> => {
    const last = `the last line is ${randomUUID()}`
    log.fatal(last)
    const read = () => readFile(destination, 'utf8').catch(() => '')
    await expect.poll(read).toContain(last)
    return read()
  }
  return { t, log, lines }
}

describe.each(['json', 'pretty'] as const)('The %s log', (format) => {
  test('never contains a key, cookie, idempotency key, body or address, whatever the outcome of the request', async () => {
    const { t, lines } = await loggingService(format)
    const { org, keys } = await t.org()
    const stranger = mintKey('live').key
    const [owner] = await t.database.sql<{ owner_user_id: string }>('select owner_user_id from orgs')
    const session = await t.service.sessions.open(owner?.owner_user_id as string, {
      method: 'credentials',
      ip: null,
      userAgent: 'MARK-agent',
    })
    // PostgreSQL quotes rejected rows in its error details.
    await t.database.sql(`alter table suppressions add constraint refused check (value not like '%refused%')`)
    await t.database.sql(`alter table idempotency_keys add constraint refused check (key not like '%refused%')`)

    const mark = (what: string) => `MARK-${what}`
    const post = (path: string, content: string, more: Record<string, string> = {}) =>
      t.ask('POST', path, {
        key: keys.live,
        raw: content,
        headers: {
          'idempotency-key': `${mark('idempotency')}-${Math.random()}`,
          cookie: `service_session=${session}; other=${mark('cookie')}`,
          'x-marked': mark('header'),
          'user-agent': mark('agent'),
          ...more,
        },
      })
    const text = (value: string) => JSON.stringify({ channel: 'email', value: `mark-${value}@example.com` })
    const broken = (how: string) => JSON.stringify({ how, text: mark(`body-${how}`) })
    const v1 = '/api/v1/suppressions'

    const statuses: Record<string, number> = {}
    const note = async (name: string, reply: Promise<{ status: number }>) => {
      statuses[name] = (await reply).status
    }
    await note('good', post(v1, text('good')))
    await note('by tenant', post(v1, text('tenant'), { 'x-service-tenant-ref': mark('tenant') }))
    await note('bad json', post(v1, `{"channel":"email","value":"${mark('json')}`))
    await note('bad shape', post(v1, JSON.stringify({ channel: mark('channel') })))
    await note('bad type', post(v1, mark('type'), { 'content-type': `text/${mark('type')}` }))
    await note('bad idempotency key', post(v1, text('key'), { 'idempotency-key': `${mark('bad')}\xe9` }))
    await note('bad path', post(`/api/v1/${mark('path')}`, text('path')))
    await note('bad url', post(`/api/v1/%zz${mark('path')}`, text('path')))
    await note('bad query', t.ask('GET', `${v1}?cursor=${mark('cursor')}`, { key: keys.live }))
    await note('good query', t.ask('GET', `${v1}?value=${mark('query')}`, { key: keys.live }))
    await note('stranger', t.ask('GET', v1, { key: stranger }))
    await note('basic', t.ask('GET', v1, { headers: { authorization: `Basic ${mark('basic')}` } }))
    await note('member', t.ask('GET', '/api/internal/api-keys', { headers: { cookie: `service_session=${session}` } }))
    await note('refused row', post(v1, text('refused')))
    await note('refused key', post(v1, text('key'), { 'idempotency-key': mark('refused') }))
    for (const how of ['error', 'value', 'failure', 'database']) {
      await note(how, post('/api/v1/probe/breaks', broken(how)))
    }
    const authorization = ['Authorization', `Bearer ${keys.live}`] as const
    await exchange(
      t.url,
      write({
        method: 'GET',
        target: v1,
        headers: [authorization, ['X', `${mark('raw')}\0`]],
        body: undefined,
      }),
    )
    await exchange(t.url, `${mark('noise')}\r\n\r\n`)
    await t.database.sql('update orgs set suspended_at = created_at where id = $1', [org.id])
    await expect.poll(async () => (await t.ask('GET', v1, { key: keys.live })).status).toBe(403)

    expect(statuses).toEqual({
      good: 201,
      'by tenant': 201,
      'bad json': 422,
      'bad shape': 422,
      'bad type': 415,
      'bad idempotency key': 422,
      'bad path': 404,
      'bad url': 404,
      'bad query': 422,
      'good query': 200,
      stranger: 401,
      basic: 401,
      member: 200,
      'refused row': 500,
      'refused key': 500,
      error: 500,
      value: 500,
      failure: 500,
      database: 500,
    })

    const logged = await lines()
    expect(logged.match(/request failed/g)).toHaveLength(6)
    for (const own of ['its own message', 'its own cause', 'a hidden cause', 'req_']) expect(logged).toContain(own)
    for (const secret of [keys.live, keys.test, stranger, session]) {
      expect(logged).not.toContain(secret)
      expect(logged).not.toContain(secret.slice(-20))
    }
    expect(logged.match(/.*mark-.*/gi) ?? []).toEqual([])
  })

  test('never contains fields whose name marks them as secret', async () => {
    const { log, lines } = await loggingService(format)
    const secret = 'MARK-secret'
    log.info({
      authorization: secret,
      cookie: secret,
      password: secret,
      token: secret,
      key: secret,
      body: { secret },
    })
    log.error({ req: { headers: { authorization: secret, cookie: secret } }, headers: { cookie: secret } }, 'a line')
    const logged = await lines()
    expect(logged).toContain('a line')
    expect(logged).not.toContain(secret)
  })
})
