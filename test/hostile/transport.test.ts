import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../service/service.ts'
import { changedTables, checkResponse, makeDigest } from './responses.ts'
import { runs, timeoutFor } from './runs.ts'
import { type Answer, type Connection, type Exchange, exchange, open } from './wire.ts'

let t: TestService
let key: string
let digest: () => Promise<Record<string, string>>
let before: Record<string, string>

/** Uncaught errors, and errors that the service logged. */
const unexpected: unknown[] = []
const note = (error: unknown) => unexpected.push(error)
const log = pino({ level: 'error' }, { write: (line: string) => note(line) })

/** The request timeout of the tested service, and the extra time that a busy machine may need. */
const timeoutMs = 1_000
const slackMs = 15_000

beforeAll(async () => {
  process.on('unhandledRejection', note)
  process.on('uncaughtException', note)
  t = await startTestService({ env: { REQUEST_TIMEOUT_SECONDS: '1', RATE_LIMITER: 'off' }, log })
  key = (await t.org()).keys.live
  digest = await makeDigest(t.database)
})
afterAll(async () => {
  await t.stop()
  process.off('unhandledRejection', note)
  process.off('uncaughtException', note)
})

beforeEach(async () => {
  before = await digest()
})
afterEach(async () => {
  expect((await t.ask('GET', '/api/v1/suppressions', { key })).status).toBe(200)
  expect(unexpected.splice(0)).toEqual([])
})

const list = (extra = '') =>
  `GET /api/v1/suppressions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${extra}\r\n`
const head = (fields: string) =>
  `POST /api/v1/suppressions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${fields}\r\n`
const target = (value: string) => JSON.stringify({ channel: 'email', value })
const whole = (value: string) => {
  const body = target(value)
  return head(`Content-Length: ${body.length}\r\n`) + body
}

const codesOf = ({ answers }: Exchange) => answers.map((answer) => checkResponse(answer) ?? answer.status)

const expectUnchanged = async () => expect(changedTables(before, await digest())).toEqual([])

/** Expects at most one response, with an allowed code, and the end of the connection in time. */
const expectRefused = async (bytes: string | Buffer, ...allowed: string[]): Promise<void> => {
  const received = await exchange(t.url, bytes, { untilClosed: true, waitMs: timeoutMs + slackMs })
  const label = JSON.stringify(bytes.toString('latin1').slice(0, 120))
  expect([label, received.end]).not.toEqual([label, 'silent'])
  expect(received.rest.length, label).toBe(0)
  expect(received.answers.length, label).toBeLessThanOrEqual(1)
  for (const code of codesOf(received)) expect(allowed, label).toContain(code)
}

/** Sends the start of a request, then a little at a time until the connection ends. */
const drip = async (start: string, next: (n: number) => string): Promise<Exchange> => {
  const connection = await open(t.url)
  connection.send(start)
  let n = 0
  const drops = setInterval(() => connection.send(next(n++)), 200)
  const received = await connection.receive({ untilClosed: true, waitMs: timeoutMs + slackMs })
  clearInterval(drops)
  connection.close()
  return received
}

describe('A body that', () => {
  test('is cut off by the end of the connection is refused', async () => {
    const connection = await open(t.url)
    connection.send(`${head('Content-Length: 100\r\n')}{"channel":`)
    connection.socket.end()
    const received = await connection.receive({ untilClosed: true })
    expect([codesOf(received), received.end]).toEqual([['VALIDATION_ERROR'], 'closed'])
    await expectUnchanged()
  })

  test('is cut off by a connection reset changes nothing', async () => {
    for (const bytes of [
      head('Content-Length: 100\r\n'),
      `${head('Content-Length: 100\r\n')}{"channel":`,
      `${head('Transfer-Encoding: chunked\r\n')}5\r\n{"cha`,
      list().slice(0, 40),
    ]) {
      const connection = await open(t.url)
      connection.send(bytes)
      await new Promise((resolve) => setTimeout(resolve, 20))
      connection.reset()
    }
    await expectUnchanged()
  })

  test('arrives byte by byte, in endless chunks or not at all is refused at the timeout', async () => {
    const sent = '{"channel":"email"}'
    const slow: [fields: string, next: (n: number) => string][] = [
      ['Content-Length: 100\r\n', (n) => sent[n] ?? ' '],
      ['Content-Length: 100\r\n', () => ''],
      ['Transfer-Encoding: chunked\r\n', () => '1\r\n \r\n'],
    ]
    const received = await Promise.all(slow.map(([fields, next]) => drip(head(fields), next)))
    for (const one of received) expect([codesOf(one), one.end]).toEqual([['VALIDATION_ERROR'], 'closed'])
    await expectUnchanged()
  })
})

describe('Headers that', () => {
  test('arrive byte by byte, in endless lines or not at all are refused at the timeout', async () => {
    const slow: [start: string, next: (n: number) => string][] = [
      ['', (n) => list()[n] ?? 'x'],
      ['GET / HTTP/1.1\r\nHost: a\r\n', () => 'x: y\r\n'],
      ['GET / HTTP/1.1\r\nHost: a\r\n', () => ''],
      ['', () => ''],
    ]
    const received = await Promise.all(slow.map(([start, next]) => drip(start, next)))
    for (const one of received) {
      expect(one.end).toBe('closed')
      for (const code of codesOf(one)) expect(code).toBe('VALIDATION_ERROR')
    }
  })

  test('exceed 16 KB in one header or in many are refused', async () => {
    await expectRefused(list(`X-Giant: ${'x'.repeat(20_000)}\r\n`), 'PAYLOAD_TOO_LARGE')
    await expectRefused(list(`${'x'.repeat(20_000)}: y\r\n`), 'PAYLOAD_TOO_LARGE')
    await expectRefused(list(`X-Giant: ${'x'.repeat(3_000_000)}\r\n`), 'PAYLOAD_TOO_LARGE')
    await expectRefused(list('X-Many: y\r\n'.repeat(3_000)), 'PAYLOAD_TOO_LARGE')
    await expectRefused(list('a:\r\n'.repeat(100_000)), 'PAYLOAD_TOO_LARGE')
    await expectRefused(`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 'PAYLOAD_TOO_LARGE')
    await expectRefused(`${'X'.repeat(20_000)} / HTTP/1.1\r\n\r\n`, 'VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE')
  })

  test('are small are accepted, even hundreds of them', async () => {
    const received = await exchange(t.url, list('a: b\r\n'.repeat(400)))
    expect(received.answers[0]?.status).toBe(200)
  })
})

describe('A body that is too large', () => {
  const limit = 6 * 1_048_576
  const chunks = (bytes: number) => `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`

  test('is refused with and without Content-Length, whether it is sent or only announced', async () => {
    await expectRefused(`${head(`Content-Length: ${limit + 1}\r\n`)}${' '.repeat(limit + 1)}`, 'PAYLOAD_TOO_LARGE')
    await expectRefused(
      `${head('Transfer-Encoding: chunked\r\n')}${chunks(65_536).repeat(97)}0\r\n\r\n`,
      'PAYLOAD_TOO_LARGE',
    )
    const announced = await exchange(t.url, head('Content-Length: 9007199254740991\r\n'))
    expect(codesOf(announced)).toEqual(['PAYLOAD_TOO_LARGE'])
    await expectUnchanged()
  })

  test('S-108 is reported as too large even if the rest of it is slow or malformed', async () => {
    const over = head(`Content-Length: ${limit + 1}\r\n`)
    const malformed = `${head('Transfer-Encoding: chunked\r\n')}${chunks(65_536).repeat(97)}zz\r\n`
    const received = await Promise.all([
      drip(over, () => ' '),
      drip(over, () => ''),
      exchange(t.url, malformed, { untilClosed: true }),
    ])
    for (const one of received) expect([codesOf(one), one.end]).toEqual([['PAYLOAD_TOO_LARGE'], 'closed'])
    await expectUnchanged()
  })

  test('and never ends is cut off', async () => {
    const connection = await open(t.url)
    connection.send(head('Transfer-Encoding: chunked\r\n'))
    const piece = chunks(65_536)
    const flood = setInterval(() => {
      if (connection.socket.writable && connection.socket.writableLength < 1_000_000)
        for (let i = 0; i < 20; i++) connection.send(piece)
    }, 5)
    const received = await connection.receive({ untilClosed: true, waitMs: timeoutMs + slackMs })
    clearInterval(flood)
    connection.close()
    expect(received.end).not.toBe('silent')
    for (const code of codesOf(received)) expect(code).toBe('PAYLOAD_TOO_LARGE')
  })
})

describe('Ambiguous framing', () => {
  const smuggled = () => whole('smuggled@example.com')
  const isThere = async () =>
    (await t.database.sql("select 1 from suppressions where value = 'smuggled@example.com'")).length > 0

  test('is refused, and a smuggled request never runs', async () => {
    const inner = smuggled()
    const outer = target('outer@example.com')
    const asChunk = `${outer.length.toString(16)}\r\n${outer}\r\n0\r\n\r\n`
    for (const fields of [
      `Content-Length: ${asChunk.length}\r\nTransfer-Encoding: chunked\r\n`,
      `Transfer-Encoding: chunked\r\nContent-Length: 4\r\n`,
      `Content-Length: 4\r\nContent-Length: ${outer.length}\r\n`,
      `Content-Length: ${outer.length}\r\nContent-Length: ${outer.length}\r\n`,
      `Content-Length: ${outer.length}, ${outer.length}\r\n`,
      'Content-Length: +4\r\n',
      'Content-Length: -4\r\n',
      'Content-Length: 0x4\r\n',
      'Content-Length: 4 4\r\n',
      'Content-Length: 99999999999999999999999\r\n',
      'Content-Length:\r\n',
      `Content-Length : ${outer.length}\r\n`,
      'Transfer-Encoding: chunked, identity\r\n',
      'Transfer-Encoding: xchunked\r\n',
      'Transfer-Encoding: gzip, chunked\r\n',
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n',
      'Transfer-Encoding : chunked\r\n',
      'Transfer-Encoding:\x0bchunked\r\n',
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n',
      'Transfer-Encoding: x\r\n y: chunked\r\n',
      'X: y\r\n Content-Length: 4\r\n',
      'X: y\nContent-Length: 4\r\n',
      'X: y\rContent-Length: 4\r\n',
      'X: \0\r\n',
      'X\0: y\r\n',
      ': y\r\n',
      'no colon\r\n',
    ]) {
      await expectRefused(head(fields) + asChunk + inner, 'VALIDATION_ERROR')
      await expectRefused(head(fields) + outer + inner, 'VALIDATION_ERROR')
      expect([fields, await isThere()]).toEqual([fields, false])
    }
    await expectUnchanged()
  })

  test('in a body that was refused before it arrived gets no second response', async () => {
    const refused = head('Transfer-Encoding: chunked\r\n').replace('Host: a', 'Host: a, b')
    const received = await exchange(t.url, `${refused}zz\r\n`, { untilClosed: true })
    expect([codesOf(received), received.end]).toEqual([['VALIDATION_ERROR'], 'closed'])
    await expectUnchanged()
  })

  test('with an invalid chunk size is refused', async () => {
    for (const body of [
      'zz\r\n',
      '-1\r\n{}\r\n0\r\n\r\n',
      'ffffffffffffffffff\r\n{}',
      '0x2\r\n{}\r\n0\r\n\r\n',
      '\r\n{}\r\n0\r\n\r\n',
      '2\r\n{}garbage\r\n0\r\n\r\n',
      '2 \r\n{}\r\n0\r\n\r\n',
      '2\n{}\n0\n\n',
      `2;${'x'.repeat(100_000)}\r\n{}\r\n0\r\n\r\n`,
      `2\r\n{}\r\n0\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`,
      '1\r\n{\r\n'.repeat(10),
    ]) {
      await expectRefused(head('Transfer-Encoding: chunked\r\n') + body, 'VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE')
    }
    await expectUnchanged()
  })
})

describe('Several requests on one connection', () => {
  test('that are sent at once get their responses in order', async () => {
    const requests = Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? list() : whole(`pipe${i}@example.com`)))
    const received = await exchange(t.url, requests.join(''), { answers: 60 })
    expect(received.answers.map(({ status }) => status)).toEqual(requests.map((_, i) => (i % 3 === 0 ? 200 : 201)))
    const values = received.answers.flatMap(({ body }, i) => (i % 3 === 0 ? [] : [JSON.parse(String(body)).value]))
    expect(values).toEqual(requests.flatMap((_, i) => (i % 3 === 0 ? [] : [`pipe${i}@example.com`])))
  })

  test('get their responses even if the last one is garbage', async () => {
    const received = await exchange(t.url, `${whole('kept@example.com')}\x00\x01garbage\r\n\r\n`, {
      untilClosed: true,
    })
    expect([received.answers[0]?.status, received.end]).toEqual([201, 'closed'])
    expect(JSON.parse(String(received.answers[0]?.body)).value).toBe('kept@example.com')
    for (const code of codesOf({ ...received, answers: received.answers.slice(1) }))
      expect(code).toBe('VALIDATION_ERROR')
  })

  test('stay in sync after a refused request', async () => {
    const bad = '{"channel":'
    const text = head(`Content-Length: ${bad.length}\r\n`) + bad + list() + list()
    const received = await exchange(t.url, text, { answers: 3 })
    expect(received.answers.map(({ status }) => status)).toEqual([422, 200, 200])
  })
})

describe('Other protocols', () => {
  test('HTTP/1.0 gets a response, and then the connection is closed', async () => {
    const received = await exchange(t.url, list().replace('HTTP/1.1', 'HTTP/1.0'), { untilClosed: true })
    expect([received.answers[0]?.status, received.end]).toEqual([200, 'closed'])
    const bare = await exchange(t.url, 'GET /api/v1/x HTTP/1.0\r\n\r\n', { untilClosed: true })
    expect(codesOf(bare)).toEqual(['UNAUTHORIZED'])
  })

  test('HTTP/1.1 without a Host header is refused with the error envelope', async () => {
    for (const path of ['/api/v1/suppressions', '/healthz', '/nowhere']) {
      const received = await exchange(t.url, `GET ${path} HTTP/1.1\r\n\r\n`, { untilClosed: true })
      expect([codesOf(received), received.end]).toEqual([['VALIDATION_ERROR'], 'closed'])
    }
  })

  test.each<[string, string | Buffer]>([
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
    ['HTTP/0.9', 'GET /\r\n'],
    ['HTTP/1.2', 'GET / HTTP/1.2\r\nHost: a\r\n\r\n'],
    ['HTTP/3.0', 'GET / HTTP/3.0\r\nHost: a\r\n\r\n'],
    ['a method in lower case', 'get /healthz HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['an unknown method', 'FROBNICATE /healthz HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'],
    ['TLS', Buffer.from('16030100c8010000c403035f', 'hex')],
    ['SSH', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['SMTP', 'EHLO example.com\r\n'],
    ['RTSP', 'OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n'],
    ['a proxy header', 'PROXY TCP4 203.0.113.1 203.0.113.2 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a response', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['empty lines', '\r\n'.repeat(20_000)],
    ['zeros', Buffer.alloc(50_000)],
  ])('%s gets an error response or a closed connection', async (_name, bytes) => {
    await expectRefused(bytes, 'VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE', 'NOT_FOUND')
  })

  test('Arbitrary bytes get an error response or a closed connection, and every stored row was acknowledged', {
    timeout: timeoutFor(60_000),
  }, async () => {
    let n = 0
    const spot = fc.record({
      at: fc.nat(),
      cut: fc.nat({ max: 3 }),
      bytes: fc.oneof(
        fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
        fc.constantFrom('\r\n', '\n', '\r', '\0', ' ', ':', '\t', '\r\n\r\n', 'HTTP/1.1'),
      ),
    })
    const corrupted = fc.tuple(fc.boolean(), fc.array(spot, { minLength: 1, maxLength: 4 })).map(([writes, spots]) =>
      spots.reduce(
        (now, { at, cut, bytes }) => {
          const from = at % (now.length + 1)
          return now.slice(0, from) + bytes + now.slice(from + cut)
        },
        writes ? whole(`corrupted${n++}@example.com`) : list(),
      ),
    )
    const noise = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
    const any = fc.oneof({ weight: 6, arbitrary: corrupted }, { weight: 1, arbitrary: noise })
    const rows = async () => (await t.database.sql('select 1 from suppressions')).length

    await fc.assert(
      // Concurrently, because an incomplete request ends only at the timeout.
      fc.asyncProperty(fc.array(any, { minLength: 1, maxLength: 100, size: 'max' }), async (all) => {
        const had = await rows()
        const received = await Promise.all(
          all.map(async (bytes) => {
            const toHead = bytes.startsWith('HEAD')
            const one = await exchange(t.url, bytes, { toHead, waitMs: timeoutMs + slackMs })
            for (const answer of one.answers) checkResponse(answer, { toHead })
            return one
          }),
        )
        expect(received.filter(({ end }) => end === 'silent')).toEqual([])
        const made = received.flatMap(({ answers }) => answers).filter(({ status }) => status === 201)
        expect((await rows()) - had).toBe(made.length)
        const written = ['audit_entries', 'audit_unlinked', 'suppressions']
        expect(changedTables(before, await digest()).sort()).toEqual(made.length > 0 ? written : [])
        before = await digest()
      }),
      runs(5),
    )
  })
})

describe('A client that', () => {
  test('disconnects before its response does no harm', async () => {
    for (let i = 0; i < 100; i++) {
      const connection = await open(t.url)
      connection.send(i % 2 === 0 ? list() : whole(`gone${i}@example.com`))
      if (i % 3 === 0) await new Promise((resolve) => setTimeout(resolve, i % 7))
      connection.reset()
    }
    // The service may still process these requests. The next tests start when it is done.
    let last: unknown
    await expect
      .poll(
        async () => {
          const [past, now] = [last, await digest()]
          last = now
          return changedTables((past as typeof now) ?? {}, now)
        },
        { interval: 250 },
      )
      .toEqual([])
  })

  test('keeps its connection open after a refusal is disconnected', async () => {
    // Both ends of every connection are in this process.
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
    const had = sockets()
    const connections = await Promise.all(Array.from({ length: 60 }, () => open(t.url)))
    for (const connection of connections) {
      connection.send('no request at all\r\n\r\n')
      expect(codesOf(await connection.receive({ untilClosed: true }))).toEqual(['VALIDATION_ERROR'])
    }
    expect(sockets() - had).toBeGreaterThan(100)
    await expect.poll(() => sockets() - had, { timeout: slackMs }).toBeLessThan(80)
    for (const connection of connections) connection.close()
  })

  /** Requests more data than the socket buffers can hold, and reads none of it. */
  const requestUnread = async (url: string): Promise<Connection> => {
    const connection = await open(url)
    connection.socket.pause()
    const size = (await t.ask('GET', '/api/openapi.json')).text.length
    connection.send('GET /api/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(Math.ceil(40_000_000 / size)))
    return connection
  }

  test('never reads its responses does not block others', async () => {
    const connection = await requestUnread(t.url)
    for (let i = 0; i < 20; i++) {
      expect((await t.ask('GET', '/api/v1/suppressions', { key })).status).toBe(200)
    }
    connection.reset()
  })

  test('is idle does not block others, even with two thousand connections', { timeout: 60_000 }, async () => {
    const patient = await startTestService({ database: t.database, env: { RATE_LIMITER: 'off' }, log })
    const { port } = new URL(patient.url)
    const idle: Socket[] = []
    try {
      for (let batch = 0; batch < 20; batch++) {
        await Promise.all(
          Array.from(
            { length: 100 },
            () =>
              new Promise<void>((resolve, reject) => {
                const socket = connect(Number(port), '127.0.0.1', resolve)
                socket.once('error', reject)
                idle.push(socket)
              }),
          ),
        )
      }
      for (const socket of idle.slice(0, 1_000)) socket.write('GET /api/v1/suppressions HTTP/1.1\r\n')
      for (let i = 0; i < 50; i++) {
        const { answers } = await exchange(patient.url, i % 2 === 0 ? list() : whole(`crowd${i}@example.com`))
        expect((answers[0] as Answer).status).toBe(i % 2 === 0 ? 200 : 201)
      }
    } finally {
      for (const socket of idle) socket.destroy()
      await patient.stop()
    }
  })

  const unfinished = async (url: string, bytes: number): Promise<Connection> => {
    const connection = await open(url)
    connection.send(`${head(`Content-Length: ${bytes}\r\n`)}{`)
    return connection
  }

  test.each<[string, (url: string) => Promise<Connection>]>([
    ['never reads its responses', requestUnread],
    ['never finishes its request', (url) => unfinished(url, 100)],
    ['never finishes one that is too large', (url) => unfinished(url, 7 * 1_048_576)],
  ])('%s does not keep the service from stopping', { timeout: 60_000 }, async (_how, begin) => {
    const service = await startTestService({
      database: t.database,
      env: { RATE_LIMITER: 'off', REQUEST_TIMEOUT_SECONDS: '2' },
      log,
    })
    const connection = await begin(service.url)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const stopped = service.stop().then(() => 'stopped')
    const late = new Promise((resolve) => setTimeout(resolve, 25_000, 'still waiting').unref())
    const outcome = await Promise.race([stopped, late])
    connection.reset()
    await stopped
    expect(outcome).toBe('stopped')
  })
})
