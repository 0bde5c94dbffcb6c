/** What each interface answers while the database is stopped, refuses connections, or loses them in the middle. */
import { afterAll, describe, expect, test, vi } from 'vitest'
import { newScimToken, scimAs, verifiedDomains } from '../clients/directory-client.ts'
import { mail } from '../clients/mailer.ts'
import { callTool, rpc } from '../clients/mcp-client.ts'
import { authorizePath, callback, getCode, postForm } from '../clients/oauth-client.ts'
import { askWith } from '../clients/people.ts'
import { connectSmtp } from '../clients/submission-client.ts'
import { primaryOwner } from '../clients/team-client.ts'
import { makeSns, sesEvent, topic } from '../servers/sns.ts'
import { type Ask, type Reply, startTestService } from '../service/service.ts'
import { makeStoppableDatabase } from '../service/stoppable-database.ts'

vi.setConfig({ testTimeout: 180_000 })

const database = await makeStoppableDatabase()
const sns = await makeSns()
const t = await startTestService({
  ...sns.overrides,
  ...verifiedDomains,
  database,
  env: { SMTP_SUBMISSION_PORT: '0', INBOUND_SMTP_PORT: '0', SES_SNS_TOPICS: topic, RATE_LIMITER: 'off' },
})
afterAll(async () => {
  await t.stop()
  await database.drop()
})

const { org, keys } = await t.org()
const owner = await primaryOwner(t, org.id)
const scim = scimAs(t, await newScimToken(owner))
const sent = (await t.ask('POST', '/api/v1/emails', { key: keys.live, body: mail() })).body.id as string
const { links } = t.service.modules

const text = 'The service cannot process the request at the moment. Nothing was changed. Retry the request.'

/** Status, error and Retry-After, which is short. The request id differs. */
const shown = ({ status, body, headers }: Reply) => {
  expect(headers['retry-after']).toMatch(/^[1-5]$/)
  expect(headers['x-request-id']).toMatch(/^req_/)
  const { request_id: _, ...error } = body.error
  return [status, error]
}

const unavailable = [503, { type: 'validation_error', code: 'UNAVAILABLE', message: text }]

const expectFlat = ({ status, body, headers }: Reply): void => {
  expect([status, body, headers['retry-after']]).toEqual([503, { error: text, code: 'UNAVAILABLE' }, '2'])
}

const internalError = (reply: Reply) => [reply.status, reply.body.error.code, reply.headers['retry-after']]

const whileStopped = async <T>(work: () => Promise<T>): Promise<T> => {
  await database.stop()
  try {
    return await work()
  } finally {
    await database.start()
  }
}

const untilBack = () => expect.poll(async () => (await t.ask('GET', '/readyz')).status, { timeout: 30_000 }).toBe(200)

const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
  t.ask('POST', path, { key: keys.live, body, headers })

const count = async (table: string, column: string, value: string): Promise<number> => {
  const rows = await database.sql<{ n: number }>(
    `select count(*)::int as n from ${table} where org_id = $1 and ${column} = $2`,
    [org.id, value],
  )
  return rows[0]?.n ?? -1
}

/** Requests that create something, and how often it was created. */
const creations: Record<string, { path: string; body: object; created: () => Promise<number> }> = {
  'an email': {
    path: '/api/v1/emails',
    body: mail({ subject: 'once' }),
    created: () => count('messages', 'subject', 'once'),
  },
  'a scheduled email': {
    path: '/api/v1/emails',
    body: mail({ subject: 'later', scheduled_at: new Date(Date.now() + 86_400_000).toISOString() }),
    created: () => count('messages', 'subject', 'later'),
  },
  'a batch': {
    path: '/api/v1/emails/batch',
    body: [mail({ subject: 'of many' })],
    created: () => count('messages', 'subject', 'of many'),
  },
  'a text message': {
    path: '/api/v1/sms',
    body: { from: 'TIDINGS', to: '+447700900123', body: 'a text' },
    created: () => count('messages', 'text', 'a text'),
  },
}

describe('While the database is stopped', () => {
  test('every route of the API is 503 UNAVAILABLE, and so is an unknown path', async () => {
    const { routes } = t.service
    expect(routes.length).toBeGreaterThan(100)
    await whileStopped(async () => {
      for (const { method, path } of routes) {
        const url = `/api/v1${path.replace(/\{\w+\}/g, 'x')}`
        expect(shown(await t.ask(method, url, { key: keys.live })), `${method} ${url}`).toEqual(
          method === 'POST' && path.startsWith('/verifications')
            ? [503, expect.objectContaining({ code: 'UNAVAILABLE', message: expect.stringContaining('code') })]
            : unavailable,
        )
      }
      expect(shown(await t.ask('GET', '/api/v1/nowhere', { key: keys.live }))).toEqual(unavailable)
    })
    await untilBack()
  })

  test('every route of the dashboard that needs a session is 503, and so is signing in', async () => {
    const routes = t.service.dashboardRoutes.filter(({ access }) => access.gate !== 'public')
    expect(routes.length).toBeGreaterThan(100)
    const login = () =>
      t.ask('POST', '/api/auth/login', { body: { email: 'ann@example.test', password: 'a long password' } })
    await whileStopped(async () => {
      for (const { method, path } of routes) {
        const headers = { 'sec-fetch-site': 'same-origin' }
        expectFlat(await askWith(t, owner.cookie, method, path.replace(/\{\w+\}/g, 'x'), { headers }))
      }
      expectFlat(await login())
    })
    await untilBack()
    expect((await login()).status).toBe(401)
  })

  test('a directory, OAuth clients and tool calls get their own kind of 503', async () => {
    const register = () =>
      t.ask('POST', '/api/oauth/register', {
        body: { client_name: 'Desktop', redirect_uris: ['http://127.0.0.1/callback'] },
      })
    const { clientId, pkce, code } = await getCode(t, { cookie: owner.cookie, orgId: org.id, scopes: ['read:domains'] })
    const exchange = () =>
      postForm(t, '/api/oauth/token', {
        grant_type: 'authorization_code',
        client_id: clientId,
        code,
        redirect_uri: callback,
        code_verifier: pkce.verifier,
      })
    await whileStopped(async () => {
      for (const reply of [await scim('GET', '/Users'), await scim('POST', '/Users', { userName: 'a@corp.test' })]) {
        expect([reply.status, reply.body.status, reply.headers['retry-after']]).toEqual([503, '503', '2'])
        expect(reply.headers['content-type']).toBe('application/scim+json; charset=utf-8')
      }
      for (const reply of [await register(), await exchange()]) {
        expect([reply.status, reply.body]).toEqual([503, { error: 'temporarily_unavailable', error_description: text }])
        expect(reply.headers['retry-after']).toBe('2')
      }
      expect(shown(await t.ask('GET', authorizePath(clientId, pkce)))).toEqual(unavailable)
      expect(shown(await rpc(t, keys.live, 'tools/list'))).toEqual(unavailable)
    })
    await untilBack()
    expect([(await register()).status, (await exchange()).status]).toEqual([201, 200])
  })

  test('links in mail work, unsubscribing asks to try again, and a notification is 503 without a word about codes', async () => {
    const message = { orgId: org.id, messageId: sent }
    const raw = JSON.stringify(sns.signed(sns.notification(sesEvent(message, 'Delivery', ['ada@example.com']))))
    const notify = () => t.ask('POST', '/api/webhooks/provider/email', { raw })
    const reader = {
      orgId: org.id,
      tenantId: null,
      environment: 'live',
      address: 'ada@example.com',
      messageId: sent,
    } as const
    const leave = links.unsubscribeUrl(reader)
    const unsubscribe = () =>
      t.ask('POST', leave.slice(t.url.length), {
        raw: 'List-Unsubscribe=One-Click',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
    await whileStopped(async () => {
      const page = await unsubscribe()
      expect([page.status, page.headers['content-type'], page.headers['retry-after']]).toEqual([
        503,
        'text/html; charset=utf-8',
        '60',
      ])
      expect(shown(await notify())).toEqual([
        503,
        {
          type: 'validation_error',
          code: 'UNAVAILABLE',
          message: 'The notification could not be processed. Send it again.',
        },
      ])
    })
    await untilBack()
    expect([(await notify()).status, (await unsubscribe()).status]).toEqual([200, 200])
    expect((await t.ask('GET', `/api/v1/emails/${sent}`, { key: keys.live })).body.status).toBe('delivered')
  })

  test('both SMTP servers answer with temporary replies, and take the mail afterwards', async () => {
    const submission = t.service.submissionPort() as number
    const session = await connectSmtp(submission)
    expect(await session.signIn(keys.live)).toMatch(/^235 /)
    const inbound = await connectSmtp(t.service.inboundSmtpPort() as number)
    await whileStopped(async () => {
      expect(await session.command('MAIL FROM:<hello@example.test>')).toMatch(
        /^451 4\.3\.0 UNAVAILABLE .*Retry in 2 s\./,
      )
      const other = await connectSmtp(submission)
      expect(await other.signIn(keys.live)).toMatch(/^454 4\.7\.0 UNAVAILABLE /)
      other.socket.destroy()
      expect(await inbound.command('MAIL FROM:<ann@reader.test>')).toMatch(/^250 /)
      expect(await inbound.command('RCPT TO:<anything@inbox.test>')).toMatch(/^451 4\.3\.0 /)
    })
    await untilBack()
    expect(await session.command('MAIL FROM:<hello@example.test>')).toMatch(/^250 /)
    expect(await session.command('RCPT TO:<smtp@reader.test>')).toMatch(/^250 /)
    expect(await session.command('DATA')).toMatch(/^354 /)
    session.write('From: hello@example.test\r\nTo: smtp@reader.test\r\nSubject: over smtp\r\n\r\nHi\r\n.\r\n')
    expect(await session.reply()).toMatch(/^250 /)
    expect(await count('messages', 'subject', 'over smtp')).toBe(1)
    expect(await inbound.command('RCPT TO:<anything@inbox.test>')).toMatch(/^550 /)
    session.socket.destroy()
    inbound.socket.destroy()
  })
})

describe('While the database refuses connections and callers are known', () => {
  test('requests pass admission and are 503, and the same request with the same key succeeds once afterwards', async () => {
    const headers = (name: string) => ({ 'idempotency-key': `away ${name}` })
    const send = (name: string) => post(creations[name]!.path, creations[name]!.body, headers(name))
    const listening = "select from pg_stat_activity where query = 'listen callers_changed'"
    await expect.poll(() => database.sql(listening), { timeout: 30_000 }).toHaveLength(1)
    // The caller is known from here on.
    expect((await t.ask('GET', '/api/v1/suppressions', { key: keys.live })).status).toBe(200)
    await database.whileRefusing(async () => {
      for (const name of Object.keys(creations)) expect(shown(await send(name)), name).toEqual(unavailable)
      expect((await post('/api/v1/emails', {})).status).toBe(422)
      const tool = await callTool(t, keys.live, 'send_email', mail())
      expect(tool.body.result.structuredContent).toMatchObject({ status: 503, error: { code: 'UNAVAILABLE' } })
      expect(tool.headers['retry-after']).toBe('2')
    })
    await untilBack()
    for (const [name, { created }] of Object.entries(creations)) {
      await expect.poll(async () => (await send(name)).body, { timeout: 30_000 }).not.toHaveProperty('error')
      expect(Math.floor((await send(name)).status / 100), name).toBe(2)
      expect(await created(), name).toBe(1)
    }
  })
})

describe('When the connection is lost in the middle', () => {
  const template = (slug: string) => post('/api/v1/templates', { slug, subject: 'Hi', text: 'Hi', channel: 'email' })
  const stored = (slug: string) => count('templates', 'slug', slug)

  test.each(['ask', 'answer'] as const)('of a read, which loses its %s, the request is 503', async (loss) => {
    const read = () => t.ask('GET', '/api/v1/templates', { key: keys.live })
    expect((await read()).status).toBe(200)
    const { result, lost } = await database.losing('templates.', loss, read)
    expect([lost, shown(result)]).toEqual([true, unavailable])
  })

  test('of a transaction before its commit, the request is 503 and nothing is stored', async () => {
    const { result, lost } = await database.losing('templates.insert', 'answer', () => template('early'))
    expect([lost, shown(result), await stored('early')]).toEqual([true, unavailable, 0])
  })

  test('of a commit, the effect is unknown and the request is 500', async () => {
    const done = await database.losing('commit', 'answer', () => template('kept'))
    expect([done.lost, internalError(done.result)]).toEqual([true, [500, 'INTERNAL_ERROR', undefined]])
    await expect.poll(() => stored('kept')).toBe(1)
    const undone = await database.losing('commit', 'ask', () => template('dropped'))
    expect([undone.lost, internalError(undone.result)]).toEqual([true, [500, 'INTERNAL_ERROR', undefined]])
    expect(await stored('dropped')).toBe(0)
  })

  test('of a commit that several requests share, each of its requests is 500', async () => {
    const add = (value: string) => post('/api/v1/suppressions', { channel: 'email', value })
    expect((await add('first@reader.test')).status).toBe(201)
    const values = ['a@reader.test', 'b@reader.test', 'c@reader.test']
    const { result, lost } = await database.losing('commit', 'answer', () => Promise.all(values.map(add)))
    expect(lost).toBe(true)
    const failed = result.filter(({ status }) => status !== 201)
    expect(failed.map(internalError)).toEqual(failed.map(() => [500, 'INTERNAL_ERROR', undefined]))
    expect(failed.length).toBeGreaterThan(0)
  })

  test('of the reservation of a send, nothing is sent, the request is 503, and a retry with its key sends once', async () => {
    const headers = { 'idempotency-key': 'lost reservation' }
    const send = () => post('/api/v1/emails', mail({ subject: 'reserved' }), headers)
    const { result, lost } = await database.losing('usage.reserve', 'answer', send)
    expect([lost, shown(result), await count('messages', 'subject', 'reserved')]).toEqual([true, unavailable, 0])
    await expect.poll(async () => (await send()).status, { timeout: 30_000 }).toBe(200)
    expect(await count('messages', 'subject', 'reserved')).toBe(1)
  })

  test('after a tenant was created because it was named first, the request is 503', async () => {
    const ask: Ask = { key: keys.live, headers: { 'x-service-tenant-ref': 'first-use' } }
    const { result, lost } = await database.losing('templates.', 'ask', () => t.ask('GET', '/api/v1/templates', ask))
    expect([lost, shown(result)]).toEqual([true, unavailable])
    expect(await count('tenants', 'external_ref', 'first-use')).toBe(1)
  })
})
