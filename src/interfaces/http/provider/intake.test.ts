/** The rules that every provider route shares, with a provider of the test and with none. */
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import Fastify from 'fastify'
import { request } from 'undici'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { makeSns, topic } from '../../../../test/servers/sns.ts'
import { startTestService, testService } from '../../../../test/service/service.ts'
import { systemClock } from '../../../platform/ground/clock.ts'
import type { Failure } from '../../../platform/ground/errors.ts'
import { silentLog } from '../../../platform/ground/log.ts'
import { SignatureFault } from '../../../providers/bad-signature.ts'
import { makeReadBody } from '../read-body.ts'
import { makeUploads } from '../uploads.ts'
import { type Intake, registerIntakes } from './intake.ts'

const names = ['email', 'sms', 'inbound-sms', 'inbound-email']
const pathOf = (name: string) => `/api/webhooks/provider/${name}`
const bodyLimit = 10 * 1_048_576
const unconfigured = [403, { error: 'No provider is configured for these notifications' }]

describe('without a provider', () => {
  const service = startTestService()
  afterAll(async () => (await service).stop())

  test.each(names)(
    'R-04 R-40 R-53 X-333 %s returns 403 for any body, 413 above 10 MB, and has no effect',
    async (name) => {
      const t = await service
      const leavesNoTrace = await watchTables(t.database)
      await leavesNoTrace(async () => {
        for (const raw of ['', '{}', '{"Type":"Notification"}', '[['.repeat(1_000), Buffer.alloc(bodyLimit, 0x5b)]) {
          const reply = await t.ask('POST', pathOf(name), { raw })
          expect([reply.status, reply.body]).toEqual(unconfigured)
        }
        expectRefusal(
          await t.ask('POST', pathOf(name), { raw: Buffer.alloc(bodyLimit + 1, 0x5b) }),
          'PAYLOAD_TOO_LARGE',
          { message: 'The request body exceeds 10 MB. Send a smaller body.' },
        )
      })
    },
  )

  test.each(names)('R-40 R-53 %s counts a body without a length while it arrives', async (name) => {
    const { url } = await service
    const send = async (length: number) => {
      async function* chunks() {
        for (let sent = 0; sent < length; sent += 65_536) yield Buffer.alloc(Math.min(65_536, length - sent), 0x5b)
      }
      const reply = await request(`${url}${pathOf(name)}`, { method: 'POST', body: Readable.from(chunks()) })
      return [reply.statusCode, JSON.parse(await reply.body.text())]
    }
    expect(await send(bodyLimit)).toEqual(unconfigured)
    expect(await send(bodyLimit + 1)).toMatchObject([413, { error: { code: 'PAYLOAD_TOO_LARGE' } }])
  })

  test.each(names)('R-40 %s answers before the body of an announced length has arrived', async (name) => {
    const { port } = new URL((await service).url)
    const socket = connect(Number(port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write(`POST ${pathOf(name)} HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n[`)
    const [first] = (await socket.iterator().next()).value.toString().split('\r\n')
    expect(first).toBe('HTTP/1.1 403 Forbidden')
  })

  test('X-360 R-04 R-40 SD-64 inbound SMS allows 600 requests per minute and source, and other routes are not limited', async () => {
    const t = await testService()
    const statuses = async (name: string, count: number) => {
      const replies = await Promise.all(Array.from({ length: count }, () => t.ask('POST', pathOf(name), { raw: '{}' })))
      return [403, 429].map((status) => replies.filter((reply) => reply.status === status).length)
    }
    expect(await statuses('inbound-sms', 601)).toEqual([600, 1])
    const refused = await t.ask('POST', pathOf('inbound-sms'), { raw: '{}' })
    expectRefusal(refused, 'RATE_LIMITED')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    const elsewhere = { raw: '{}', headers: { 'x-forwarded-for': '203.0.113.9' } }
    expect((await t.ask('POST', pathOf('inbound-sms'), elsewhere)).status).toBe(403)
    expect(await statuses('sms', 601)).toEqual([601, 0])
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 61 } })
    expect((await t.ask('POST', pathOf('inbound-sms'), { raw: '{}' })).status).toBe(403)
  })
})

test('R-04 R-40 Only bad signatures count toward 600 per minute and source, and a valid notification still passes', async () => {
  const sns = await makeSns()
  const t = await testService({ ...sns.overrides, env: { SES_SNS_TOPICS: topic } })
  const send = (raw: string) => t.ask('POST', pathOf('email'), { raw })
  const valid = () => send(JSON.stringify(sns.signed(sns.notification({}))))
  expect((await valid()).status).toBe(200)
  const replies = await Promise.all(Array.from({ length: 600 }, () => send('{}')))
  expect(replies.filter(({ status }) => status === 403).length).toBe(600)
  expectRefusal(await send('{}'), 'RATE_LIMITED')
  expect((await valid()).status).toBe(200)
})

describe('with a provider', () => {
  const startIntake = async (take: Intake['take']) => {
    const app = Fastify()
    app.decorateRequest('admitted', null)
    app.setErrorHandler((error: Failure, _request, reply) => reply.code(error.status).send({ code: error.code }))
    const proxies = { trustedProxies: [], trustedProxyHops: 0 }
    const uploads = makeUploads({ perCaller: 2 * bodyLimit, total: 2 * bodyLimit })
    registerIntakes(app, [{ name: 'test', counts: 'bad signatures', take }], {
      limiter: undefined,
      clock: systemClock,
      log: silentLog(),
      proxies,
      readBody: makeReadBody({ uploads, proxies }),
    })
    onTestFinished(() => app.close())
    return async (payload: string) => {
      const reply = await app.inject({ method: 'POST', url: pathOf('test'), payload })
      return [reply.statusCode, reply.json()]
    }
  }

  test('R-40 A body above the bounds on depth and values is rejected before it is parsed', async () => {
    const taken: unknown[] = []
    const send = await startIntake(async (notification) => {
      taken.push(notification)
      return { status: 'taken' }
    })
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
    const many = (values: number) => `[${Array(values - 1).fill(0)}]`
    const rejected = [403, { error: 'The signature is not valid' }]
    for (const body of [nested(33), many(10_001), nested(1_000_000), many(1_000_000), '{"a":', '']) {
      expect(await send(body)).toEqual(rejected)
    }
    expect(taken).toEqual([])
    for (const body of [nested(32), many(10_000)]) expect(await send(body)).toEqual([200, { status: 'taken' }])
    expect(taken).toEqual([nested(32), many(10_000)].map((text) => JSON.parse(text)))
  })

  test('R-40 A body above 256 KB is parsed like a smaller one', async () => {
    const send = await startIntake(async (notification) => ({ length: (notification as { text: string }).text.length }))
    expect(await send(JSON.stringify({ text: 'é'.repeat(1_000_000) }))).toEqual([200, { length: 1_000_000 }])
    expect(await send(`{"text":"${'x'.repeat(1_000_000)}`)).toEqual([403, { error: 'The signature is not valid' }])
  })

  test('R-04 A bad signature is 403, and an error of the service is UNAVAILABLE', async () => {
    const failing = await startIntake(async (notification) => {
      throw notification === 1 ? new SignatureFault('test') : new Error('test')
    })
    expect(await failing('1')).toEqual([403, { error: 'The signature is not valid' }])
    expect(await failing('2')).toEqual([503, { code: 'UNAVAILABLE' }])
  })
})
