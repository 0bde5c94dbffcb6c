import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exchange, type Field, write } from '../../../test/hostile/wire.ts'
import { startTestService, type TestService } from '../../../test/service/service.ts'
import { fromThisMachine } from './this-machine.ts'

const local = '127.0.0.1:3000'

const accepts = (headers: Record<string, string>, remoteAddress = '127.0.0.1') =>
  fromThisMachine({ socket: { remoteAddress }, headers } as unknown as IncomingMessage)

/** Request headers, and whether a request with them counts as one from this machine. */
const table: [headers: Record<string, string>, accepted: boolean][] = [
  ...[
    'localhost',
    'LOCALHOST:3000',
    'tidings.localhost:3000',
    'a.b-c.localhost',
    '127.0.0.1',
    '127.8.9.10:65535',
    '[::1]',
    '[::1]:3000',
    '[0:0:0:0:0:0:0:1]:3000',
    '[::ffff:127.0.0.1]:3000',
  ].map((host): [Record<string, string>, boolean] => [{ host }, true]),
  ...[
    '',
    'attacker.example',
    'attacker.example:3000',
    'localhost.attacker.example',
    'notlocalhost',
    '.localhost',
    'a..localhost',
    'localhost.',
    'localhost:',
    'localhost:x',
    'localhost:3000:3000',
    'localhost@attacker.example',
    'attacker.example#localhost',
    'localhost, localhost',
    '127.0.0.1.attacker.example',
    '127.1',
    '2130706433',
    '0.0.0.0',
    '10.0.0.1',
    '::1',
    '[::1',
    '[::2]',
    '[::1%lo]',
    '[localhost]',
    'x[::1]',
  ].map((host): [Record<string, string>, boolean] => [{ host }, false]),
  [{}, false],
  ...['http://127.0.0.1:3000', 'http://localhost:3000', 'http://[::1]:3000'].map(
    (origin): [Record<string, string>, boolean] => [{ host: local, origin }, true],
  ),
  [{ host: 'localhost', origin: 'http://localhost' }, true],
  [{ host: 'localhost:80', origin: 'http://localhost' }, true],
  [{ host: 'localhost', origin: 'http://localhost:80' }, true],
  ...[
    'null',
    '',
    'http://attacker.example',
    'http://attacker.example:3000',
    'http://localhost',
    'http://localhost:3001',
    'https://localhost:3000',
    'file://localhost:3000',
    'http://localhost:3000/',
    'http://localhost.attacker.example:3000',
    'http://localhost:3000 http://localhost:3000',
  ].map((origin): [Record<string, string>, boolean] => [{ host: local, origin }, false]),
  [{ host: local, 'sec-fetch-site': 'none' }, true],
  [{ host: local, 'sec-fetch-site': 'same-origin' }, true],
  ...['same-site', 'cross-site', '', 'Same-Origin', 'none, none'].map((site): [Record<string, string>, boolean] => [
    { host: local, 'sec-fetch-site': site },
    false,
  ]),
  ...[
    'via',
    'forwarded',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-real-ip',
    'cf-connecting-ip',
    'true-client-ip',
    'x-client-ip',
  ].flatMap((name): [Record<string, string>, boolean][] => [
    [{ host: local, [name]: '127.0.0.1' }, false],
    [{ host: local, [name]: '' }, false],
  ]),
]

test.each(table)('a request from loopback with the headers %j counts as one from this machine: %s', (headers, yes) => {
  expect(accepts(headers)).toBe(yes)
})

test.each(['203.0.113.9', '10.0.0.1', '::ffff:10.0.0.1', '2001:db8::1', ''])(
  'a request from %j never counts as one from this machine',
  (address) => {
    expect(accepts({ host: local }, address)).toBe(false)
  },
)

describe('over the wire', () => {
  let t: TestService
  let guarded: TestService
  beforeAll(async () => {
    t = await startTestService()
    guarded = await startTestService({ database: t.database, env: { METRICS_TOKEN: 'a-long-enough-token' } })
  })
  afterAll(async () => {
    await guarded.stop()
    await t.stop()
  })

  const send = async (to: TestService, path: string, headers: Field[]) => {
    const post = path === '/api/dev/clock'
    const fields: Field[] = post ? [['Content-Type', 'application/json'], ...headers] : headers
    const body = post ? Buffer.from('{"advance_seconds":3600}') : undefined
    const { answers } = await exchange(
      to.url,
      write({ method: post ? 'POST' : 'GET', target: path, headers: fields, body }),
    )
    const [answer] = answers
    return { status: answer?.status, text: String(answer?.body) }
  }

  const storedOffset = () => t.database.sql("select value from settings where name = 'clock_offset_ms'")

  test.each(['/api/dev/clock', '/api/dev/outbox', '/metrics'])(
    '%s serves loopback names, and is 404 without effect for a rebound name, another site and a proxy',
    async (path) => {
      const { port } = new URL(t.url)
      for (const host of [`localhost:${port}`, `x.localhost:${port}`, `[::1]:${port}`, '127.0.0.1']) {
        expect((await send(t, path, [['Host', host]])).status, host).toBe(200)
      }
      const offset = await storedOffset()
      for (const headers of [
        [['Host', `attacker.example:${port}`]],
        [
          ['Host', `localhost:${port}`],
          ['Origin', 'http://attacker.example'],
        ],
        [
          ['Host', `localhost:${port}`],
          ['Sec-Fetch-Site', 'cross-site'],
        ],
        [
          ['Host', `localhost:${port}`],
          ['Via', '1.1 proxy'],
        ],
      ] as Field[][]) {
        const { status, text } = await send(t, path, headers)
        expect([status, JSON.parse(text).error.code], JSON.stringify(headers)).toEqual([404, 'NOT_FOUND'])
      }
      expect(await storedOffset()).toEqual(offset)
    },
  )

  test('/metrics with METRICS_TOKEN serves the token under any host name and through a proxy', async () => {
    const headers: Field[] = [
      ['Host', 'metrics.example'],
      ['Via', '1.1 proxy'],
    ]
    const { status, text } = await send(guarded, '/metrics', headers)
    expect([status, JSON.parse(text).error.code]).toEqual([404, 'NOT_FOUND'])
    const allowed = await send(guarded, '/metrics', [...headers, ['Authorization', 'Bearer a-long-enough-token']])
    expect(allowed.status).toBe(200)
    expect(allowed.text).toContain('process_resident_memory_bytes')
  })
})
