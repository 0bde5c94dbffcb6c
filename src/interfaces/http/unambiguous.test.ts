import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { changedTables, checkResponse, makeDigest } from '../../../test/hostile/responses.ts'
import { type Exchange, exchange } from '../../../test/hostile/wire.ts'
import { startTestService, type TestService } from '../../../test/service/service.ts'

let t: TestService
let key: string
let digest: () => Promise<Record<string, string>>
let before: Record<string, string>
beforeAll(async () => {
  t = await startTestService({ env: { RATE_LIMITER: 'off' } })
  key = (await t.org()).keys.live
  digest = await makeDigest(t.database)
  await t.ask('GET', '/api/v1/suppressions', { key })
})
afterAll(() => t.stop())
beforeEach(async () => {
  before = await digest()
})

const body = '{"channel":"email","value":"a@example.com"}'
const post = (fields: string, { target = '/api/v1/suppressions', bytes = Buffer.from(body) } = {}) =>
  Buffer.concat([
    Buffer.from(
      `POST ${target} HTTP/1.1\r\nAuthorization: Bearer ${key}\r\n${fields}Content-Length: ${bytes.length}\r\n\r\n`,
      'latin1',
    ),
    bytes,
  ])
const json = 'Content-Type: application/json\r\n'

/** The code of each error, and the status of every other response. */
const outcomesOf = ({ answers }: Exchange) => answers.map((answer) => checkResponse(answer) ?? answer.status)
const errorsOf = ({ answers }: Exchange) =>
  answers.map(({ status, body: text }) => {
    const { type, code, message } = JSON.parse(String(text)).error
    return [status, type, code, message]
  })

describe('a request for more than one host', () => {
  afterEach(async () => expect(changedTables(before, await digest())).toEqual([]))

  test.each([
    ['two Host lines', 'Host: a\r\nHost: b\r\n'],
    ['two equal Host lines', 'Host: a\r\nhOST: a\r\n'],
    ['a Host line after an empty one', 'Host:\r\nHost: a\r\n'],
    ['a list of hosts', 'Host: a, b\r\n'],
    ['a list without spaces', 'Host: a,b\r\n'],
    ['two hosts with a space', 'Host: a b\r\n'],
    ['a user name', 'Host: a@b\r\n'],
    ['a path', 'Host: a/b\r\n'],
    ['a URL', 'Host: http://a\r\n'],
    ['a query', 'Host: a?b\r\n'],
    ['two ports', 'Host: a:1:2\r\n'],
    ['a port that is no number', 'Host: a:b\r\n'],
    ['an open bracket', 'Host: [::1\r\n'],
  ])('is refused as malformed when it has %s, and the connection closes', async (_what, hosts) => {
    const received = await exchange(t.url, Buffer.concat([post(hosts + json), post(`Host: a\r\n${json}`)]), {
      untilClosed: true,
    })
    expect(errorsOf(received)).toEqual([
      [422, 'validation_error', 'VALIDATION_ERROR', 'The request is invalid. See errors for the fields to correct.'],
    ])
    expect(JSON.parse(String(received.answers[0]?.body)).error.errors).toEqual([
      { path: [], code: 'custom', message: 'This is not a valid HTTP request.' },
    ])
    expect(received.end).toBe('closed')
  })

  test.each([
    ['ftp://localhost/api/v1/suppressions', 'localhost'],
    ['file:///api/v1/suppressions', 'localhost'],
    ['ws://localhost/api/v1/suppressions', 'localhost'],
    ['http://other/api/v1/suppressions', 'localhost'],
    ['http://localhost:3001/api/v1/suppressions', 'localhost'],
    ['http://localhost:3001/api/v1/suppressions', 'localhost:3000'],
    ['http://localhost:443/api/v1/suppressions', 'localhost'],
    ['https://localhost:80/api/v1/suppressions', 'localhost'],
    ['http://user@localhost/api/v1/suppressions', 'localhost'],
    ['http://localhost.example/api/v1/suppressions', 'localhost'],
    ['http://localhost/api/v1/suppressions', ''],
    ['http://other', 'localhost'],
    ['http://other?x', 'localhost'],
  ])('is refused as malformed with the target %s and the Host %j', async (target, host) => {
    const received = await exchange(t.url, post(`Host: ${host}\r\n${json}`, { target }), { untilClosed: true })
    expect([outcomesOf(received), received.end]).toEqual([['VALIDATION_ERROR'], 'closed'])
  })

  test('is refused before its key is checked, on every kind of path', async () => {
    for (const path of [
      '/api/v1/suppressions',
      '/api/internal/api-keys',
      '/healthz',
      '/metrics',
      '/t/o/x',
      '/nowhere',
    ]) {
      const received = await exchange(t.url, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n`, {
        untilClosed: true,
      })
      expect([received.answers.map(({ status }) => status), received.end], path).toEqual([[422], 'closed'])
    }
  })
})

describe('a request for one host', () => {
  test.each([
    ['/api/v1/suppressions', 'localhost'],
    ['/api/v1/suppressions', 'localhost:3000'],
    ['/api/v1/suppressions', '[2001:db8::1]:3000'],
    ['/api/v1/suppressions', 'exa_mple.com.'],
    ['/api/v1/suppressions', ''],
    ['http://localhost/api/v1/suppressions', 'localhost'],
    ['HTTP://LocalHost/api/v1/suppressions', 'localHOST'],
    ['http://localhost:80/api/v1/suppressions', 'localhost'],
    ['http://localhost/api/v1/suppressions', 'localhost:80'],
    ['https://localhost:443/api/v1/suppressions', 'localhost'],
    ['https://api.example.com/v1/suppressions', 'api.example.com'],
    ['http://[::1]:3000/v1/suppressions', '[::1]:3000'],
  ])('is served with the target %s and the Host %j', async (target, host) => {
    const received = await exchange(
      t.url,
      `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    )
    expect(received.answers.map(({ status }) => status)).toEqual([200])
  })

  test('is served over HTTP/1.0 with an absolute target and no Host', async () => {
    const received = await exchange(
      t.url,
      `GET http://localhost/api/v1/suppressions HTTP/1.0\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    )
    expect(received.answers.map(({ status }) => status)).toEqual([200])
  })
})

describe('a body in another coding', () => {
  const host = 'Host: localhost\r\n'

  test.each(['gzip', 'br', 'deflate', 'x', 'identity, gzip', 'gzip, identity', 'identity;q=1'])(
    'is 415 without effect with Content-Encoding %s, and the next request on the connection is served',
    async (coding) => {
      const compressed = post(`${host}${json}Content-Encoding: ${coding}\r\n`, { bytes: gzipSync(body) })
      const next = `GET /api/v1/suppressions HTTP/1.1\r\n${host}Authorization: Bearer ${key}\r\n\r\n`
      const received = await exchange(t.url, Buffer.concat([compressed, Buffer.from(next)]), { answers: 2 })
      expect(outcomesOf(received)).toEqual(['UNSUPPORTED_MEDIA_TYPE', 200])
      expect(errorsOf({ ...received, answers: received.answers.slice(0, 1) })).toEqual([
        [
          415,
          'validation_error',
          'UNSUPPORTED_MEDIA_TYPE',
          'The request body must not be compressed. Send it without Content-Encoding.',
        ],
      ])
      expect(changedTables(before, await digest())).toEqual([])
    },
  )

  test.each(['utf-16', 'latin1', 'us-ascii', '"iso-8859-1"', '', '"', "'utf-8'", 'utf-8; charset=utf-16', 'utf-88'])(
    'is 415 without effect with charset=%s',
    async (charset) => {
      for (const type of [`application/json; charset=${charset}`, `APPLICATION/JSON ;x=y;CHARSET = ${charset}`]) {
        const received = await exchange(t.url, post(`${host}Content-Type: ${type}\r\n`))
        expect(outcomesOf(received), type).toEqual(['UNSUPPORTED_MEDIA_TYPE'])
        expect(received.answers[0]?.status).toBe(415)
      }
      expect(changedTables(before, await digest())).toEqual([])
    },
  )

  test('is 415 only after the key is checked, and on the unsubscribe page too', async () => {
    const coded = `${host}${json}Content-Encoding: gzip\r\n`
    const anonymous = String(post(coded)).replace(/Authorization.*\r\n/, '')
    expect(outcomesOf(await exchange(t.url, anonymous))).toEqual(['UNAUTHORIZED'])
    expect(outcomesOf(await exchange(t.url, post(coded, { target: '/u/x' })))).toEqual(['UNSUPPORTED_MEDIA_TYPE'])
    const form = `${host}Content-Type: application/x-www-form-urlencoded; charset=iso-8859-1\r\n`
    const page = await exchange(t.url, post(form, { target: '/u/x', bytes: Buffer.from('List-Unsubscribe=One-Click') }))
    expect(page.answers.map(({ status }) => status)).toEqual([404])
  })

  test.each([
    'Content-Type: application/json; charset=utf-8',
    'Content-Type: application/json;charset="UTF-8"',
    'Content-Type: application/json; charset=utf8',
    'Content-Type: application/json; charset=utf-8 ; x=y',
    'Content-Type: application/json\r\nContent-Encoding: identity',
    'Content-Type: application/json\r\nContent-Encoding: Identity, identity',
  ])('is served when it is plain UTF-8 with %j', async (fields) => {
    const received = await exchange(t.url, post(`${host}${fields}\r\n`))
    expect([200, 201]).toContain(received.answers[0]?.status)
    expect(received.answers).toHaveLength(1)
  })

  test('does not matter for a request whose body is not read', async () => {
    const received = await exchange(
      t.url,
      `GET /api/v1/suppressions HTTP/1.1\r\n${host}Content-Encoding: gzip\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    )
    expect(received.answers.map(({ status }) => status)).toEqual([200])
  })
})

test('two Content-Length or Transfer-Encoding lines are refused as malformed, and nothing after them runs', async () => {
  const second = post(`Host: localhost\r\n${json}`)
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const head = `POST /api/v1/suppressions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n${json}`
  for (const first of [
    `${head}Content-Length: ${body.length}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    `${head}Content-Length: ${body.length}\r\nContent-Length: 1\r\n\r\n${body}`,
    `${head}Content-Length: ${body.length}, ${body.length}\r\n\r\n${body}`,
    `${head}Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
    `${head}Transfer-Encoding: chunked\r\nContent-Length: ${chunk.length}\r\n\r\n${chunk}`,
    `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
    `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n${chunk}`,
    `${head}Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
    `${head}Transfer-Encoding: chunked, chunked\r\n\r\n${chunk}`,
    `${head}Transfer-Encoding: gzip, chunked\r\n\r\n${chunk}`,
  ]) {
    const received = await exchange(t.url, Buffer.concat([Buffer.from(first), second]), { untilClosed: true })
    expect([first, outcomesOf(received), received.end]).toEqual([first, ['VALIDATION_ERROR'], 'closed'])
  }
  expect(changedTables(before, await digest())).toEqual([])
})
