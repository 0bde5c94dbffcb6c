import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../service/service.ts'
import { changed, judge, makeDigest } from './judge.ts'
import { patience, runs } from './runs.ts'
import { type Answer, type Heard, type Line, open, tell } from './wire.ts'

let t: TestService
let key: string
let digest: () => Promise<Record<string, string>>
let before: Record<string, string>

/** What nobody caught, and what the service itself says went wrong. */
const stray: unknown[] = []
const note = (error: unknown) => stray.push(error)
const log = pino({ level: 'error' }, { write: (line: string) => note(line) })

/** The timeout of the house under test, and as much again as a busy machine may need. */
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
  expect(stray.splice(0)).toEqual([])
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

const codesOf = ({ answers }: Heard) => answers.map((answer) => judge(answer) ?? answer.status)

const untouched = async () => expect(changed(before, await digest())).toEqual([])

/** Refused with the code, if anything was said at all, and the connection ended in time. */
const ends = async (bytes: string | Buffer, ...allowed: string[]): Promise<void> => {
  const heard = await tell(t.url, bytes, { untilClosed: true, patienceMs: timeoutMs + slackMs })
  const label = JSON.stringify(bytes.toString('latin1').slice(0, 120))
  expect([label, heard.end]).not.toEqual([label, 'silent'])
  expect(heard.rest.length, label).toBe(0)
  expect(heard.answers.length, label).toBeLessThanOrEqual(1)
  for (const code of codesOf(heard)) expect(allowed, label).toContain(code)
}

/** Sends a start and then a little at a time, until the connection ends. */
const drip = async (start: string, next: (n: number) => string): Promise<Heard> => {
  const line = await open(t.url)
  line.send(start)
  let n = 0
  const drops = setInterval(() => line.send(next(n++)), 200)
  const heard = await line.heard({ untilClosed: true, patienceMs: timeoutMs + slackMs })
  clearInterval(drops)
  line.close()
  return heard
}

describe('a body that', () => {
  test('is cut off half way by the end of the connection is refused', async () => {
    const line = await open(t.url)
    line.send(`${head('Content-Length: 100\r\n')}{"channel":`)
    line.socket.end()
    const heard = await line.heard({ untilClosed: true })
    expect([codesOf(heard), heard.end]).toEqual([['VALIDATION_ERROR'], 'closed'])
    await untouched()
  })

  test('is cut off half way by a reset leaves nothing behind', async () => {
    for (const bytes of [
      head('Content-Length: 100\r\n'),
      `${head('Content-Length: 100\r\n')}{"channel":`,
      `${head('Transfer-Encoding: chunked\r\n')}5\r\n{"cha`,
      list().slice(0, 40),
    ]) {
      const line = await open(t.url)
      line.send(bytes)
      await new Promise((resolve) => setTimeout(resolve, 20))
      line.reset()
    }
    await untouched()
  })

  test('comes byte by byte, in chunks without end or not at all ends at the timeout', async () => {
    const sent = '{"channel":"email"}'
    const slow: [fields: string, next: (n: number) => string][] = [
      ['Content-Length: 100\r\n', (n) => sent[n] ?? ' '],
      ['Content-Length: 100\r\n', () => ''],
      ['Transfer-Encoding: chunked\r\n', () => '1\r\n \r\n'],
    ]
    const heard = await Promise.all(slow.map(([fields, next]) => drip(head(fields), next)))
    for (const one of heard) expect([codesOf(one), one.end]).toEqual([['VALIDATION_ERROR'], 'closed'])
    await untouched()
  })
})

describe('headers that', () => {
  test('come byte by byte, line by line without end or not at all end at the timeout', async () => {
    const slow: [start: string, next: (n: number) => string][] = [
      ['', (n) => list()[n] ?? 'x'],
      ['GET / HTTP/1.1\r\nHost: a\r\n', () => 'x: y\r\n'],
      ['GET / HTTP/1.1\r\nHost: a\r\n', () => ''],
      ['', () => ''],
    ]
    const heard = await Promise.all(slow.map(([start, next]) => drip(start, next)))
    for (const one of heard) {
      expect(one.end).toBe('closed')
      for (const code of codesOf(one)) expect(code).toBe('VALIDATION_ERROR')
    }
  })

  test('take more than 16 KB are refused, in one header or in many', async () => {
    await ends(list(`X-Giant: ${'x'.repeat(20_000)}\r\n`), 'PAYLOAD_TOO_LARGE')
    await ends(list(`${'x'.repeat(20_000)}: y\r\n`), 'PAYLOAD_TOO_LARGE')
    await ends(list(`X-Giant: ${'x'.repeat(3_000_000)}\r\n`), 'PAYLOAD_TOO_LARGE')
    await ends(list('X-Many: y\r\n'.repeat(3_000)), 'PAYLOAD_TOO_LARGE')
    await ends(list('a:\r\n'.repeat(100_000)), 'PAYLOAD_TOO_LARGE')
    await ends(`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 'PAYLOAD_TOO_LARGE')
    await ends(`${'X'.repeat(20_000)} / HTTP/1.1\r\n\r\n`, 'VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE')
  })

  test('are small and many are read, hundreds of them', async () => {
    const heard = await tell(t.url, list('a: b\r\n'.repeat(400)))
    expect(heard.answers[0]?.status).toBe(200)
  })
})

describe('too large a body', () => {
  const limit = 6 * 1_048_576
  const chunks = (bytes: number) => `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`

  test('is refused with and without Content-Length, whether it is sent or only announced', async () => {
    await ends(`${head(`Content-Length: ${limit + 1}\r\n`)}${' '.repeat(limit + 1)}`, 'PAYLOAD_TOO_LARGE')
    await ends(`${head('Transfer-Encoding: chunked\r\n')}${chunks(65_536).repeat(97)}0\r\n\r\n`, 'PAYLOAD_TOO_LARGE')
    const announced = await tell(t.url, head('Content-Length: 9007199254740991\r\n'))
    expect(codesOf(announced)).toEqual(['PAYLOAD_TOO_LARGE'])
    await untouched()
  })

  test('S-108 of which the rest is slow or garbled is told its size all the same', async () => {
    const over = head(`Content-Length: ${limit + 1}\r\n`)
    const spoilt = `${head('Transfer-Encoding: chunked\r\n')}${chunks(65_536).repeat(97)}zz\r\n`
    const heard = await Promise.all([
      drip(over, () => ' '),
      drip(over, () => ''),
      tell(t.url, spoilt, { untilClosed: true }),
    ])
    for (const one of heard) expect([codesOf(one), one.end]).toEqual([['PAYLOAD_TOO_LARGE'], 'closed'])
    await untouched()
  })

  test('and goes on without end is cut off', async () => {
    const line = await open(t.url)
    line.send(head('Transfer-Encoding: chunked\r\n'))
    const piece = chunks(65_536)
    const flood = setInterval(() => {
      if (line.socket.writable && line.socket.writableLength < 1_000_000) for (let i = 0; i < 20; i++) line.send(piece)
    }, 5)
    const heard = await line.heard({ untilClosed: true, patienceMs: timeoutMs + slackMs })
    clearInterval(flood)
    line.close()
    expect(heard.end).not.toBe('silent')
    for (const code of codesOf(heard)) expect(code).toBe('PAYLOAD_TOO_LARGE')
  })
})

describe('framing that can be read two ways', () => {
  const smuggled = () => whole('smuggled@example.com')
  const isThere = async () =>
    (await t.database.sql("select 1 from suppressions where value = 'smuggled@example.com'")).length > 0

  test('is refused, and what hides behind it is never run', async () => {
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
      await ends(head(fields) + asChunk + inner, 'VALIDATION_ERROR')
      await ends(head(fields) + outer + inner, 'VALIDATION_ERROR')
      expect([fields, await isThere()]).toEqual([fields, false])
    }
    await untouched()
  })

  test('a chunk of no honest size is refused', async () => {
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
      await ends(head('Transfer-Encoding: chunked\r\n') + body, 'VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE')
    }
    await untouched()
  })
})

describe('several requests on one connection', () => {
  test('sent at once are answered in order', async () => {
    const requests = Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? list() : whole(`pipe${i}@example.com`)))
    const heard = await tell(t.url, requests.join(''), { answers: 60 })
    expect(heard.answers.map(({ status }) => status)).toEqual(requests.map((_, i) => (i % 3 === 0 ? 200 : 201)))
    const values = heard.answers.flatMap(({ body }, i) => (i % 3 === 0 ? [] : [JSON.parse(String(body)).value]))
    expect(values).toEqual(requests.flatMap((_, i) => (i % 3 === 0 ? [] : [`pipe${i}@example.com`])))
  })

  test('of which the last is garbage get their own answers first', async () => {
    const heard = await tell(t.url, `${whole('kept@example.com')}\x00\x01garbage\r\n\r\n`, {
      untilClosed: true,
    })
    expect([heard.answers[0]?.status, heard.end]).toEqual([201, 'closed'])
    expect(JSON.parse(String(heard.answers[0]?.body)).value).toBe('kept@example.com')
    for (const code of codesOf({ ...heard, answers: heard.answers.slice(1) })) expect(code).toBe('VALIDATION_ERROR')
  })

  test('a refusal leaves the connection in step', async () => {
    const bad = '{"channel":'
    const text = head(`Content-Length: ${bad.length}\r\n`) + bad + list() + list()
    const heard = await tell(t.url, text, { answers: 3 })
    expect(heard.answers.map(({ status }) => status)).toEqual([422, 200, 200])
  })
})

describe('other protocols', () => {
  test('HTTP/1.0 is answered, and the connection ends with the answer', async () => {
    const heard = await tell(t.url, list().replace('HTTP/1.1', 'HTTP/1.0'), { untilClosed: true })
    expect([heard.answers[0]?.status, heard.end]).toEqual([200, 'closed'])
    const bare = await tell(t.url, 'GET /api/v1/x HTTP/1.0\r\n\r\n', { untilClosed: true })
    expect(codesOf(bare)).toEqual(['UNAUTHORIZED'])
  })

  test('HTTP/1.1 without a Host is refused in the envelope', async () => {
    for (const path of ['/api/v1/suppressions', '/healthz', '/nowhere']) {
      const heard = await tell(t.url, `GET ${path} HTTP/1.1\r\n\r\n`, { untilClosed: true })
      expect([codesOf(heard), heard.end]).toEqual([['VALIDATION_ERROR'], 'closed'])
    }
  })

  test.each<[string, string | Buffer]>([
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
    ['HTTP/0.9', 'GET /\r\n'],
    ['HTTP/1.2', 'GET / HTTP/1.2\r\nHost: a\r\n\r\n'],
    ['HTTP/3.0', 'GET / HTTP/3.0\r\nHost: a\r\n\r\n'],
    ['a method in lower case', 'get /healthz HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a method nobody knows', 'FROBNICATE /healthz HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'],
    ['TLS', Buffer.from('16030100c8010000c403035f', 'hex')],
    ['SSH', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['SMTP', 'EHLO example.com\r\n'],
    ['RTSP', 'OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n'],
    ['a proxy header', 'PROXY TCP4 203.0.113.1 203.0.113.2 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['an answer', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['empty lines', '\r\n'.repeat(20_000)],
    ['zeros', Buffer.alloc(50_000)],
  ])('%s gets a refusal or a closed connection', async (_name, bytes) => {
    await ends(bytes, 'VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE', 'NOT_FOUND')
  })

  test('any bytes get a refusal or a closed connection, and nothing is written that is not answered for', {
    timeout: patience(60_000),
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
    const spoiled = fc.tuple(fc.boolean(), fc.array(spot, { minLength: 1, maxLength: 4 })).map(([writes, spots]) =>
      spots.reduce(
        (now, { at, cut, bytes }) => {
          const from = at % (now.length + 1)
          return now.slice(0, from) + bytes + now.slice(from + cut)
        },
        writes ? whole(`spoiled${n++}@example.com`) : list(),
      ),
    )
    const noise = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
    const any = fc.oneof({ weight: 6, arbitrary: spoiled }, { weight: 1, arbitrary: noise })
    const rows = async () => (await t.database.sql('select 1 from suppressions')).length

    await fc.assert(
      // Side by side, since what is half a request ends only at the timeout.
      fc.asyncProperty(fc.array(any, { minLength: 1, maxLength: 100, size: 'max' }), async (all) => {
        const had = await rows()
        const heard = await Promise.all(
          all.map(async (bytes) => {
            const toHead = bytes.startsWith('HEAD')
            const one = await tell(t.url, bytes, { toHead, patienceMs: timeoutMs + slackMs })
            for (const answer of one.answers) judge(answer, { toHead })
            return one
          }),
        )
        expect(heard.filter(({ end }) => end === 'silent')).toEqual([])
        const made = heard.flatMap(({ answers }) => answers).filter(({ status }) => status === 201)
        expect((await rows()) - had).toBe(made.length)
        const written = ['audit_entries', 'audit_unlinked', 'suppressions']
        expect(changed(before, await digest()).sort()).toEqual(made.length > 0 ? written : [])
        before = await digest()
      }),
      runs(5),
    )
  })
})

describe('clients that hold on or let go', () => {
  test('one that is gone before its answer does no harm', async () => {
    for (let i = 0; i < 100; i++) {
      const line = await open(t.url)
      line.send(i % 2 === 0 ? list() : whole(`gone${i}@example.com`))
      if (i % 3 === 0) await new Promise((resolve) => setTimeout(resolve, i % 7))
      line.reset()
    }
    // What they asked for may still be done; the tests that follow start once it is.
    let last: unknown
    await expect
      .poll(
        async () => {
          const [past, now] = [last, await digest()]
          last = now
          return changed((past as typeof now) ?? {}, now)
        },
        { interval: 250, timeout: 10_000 },
      )
      .toEqual([])
  })

  test('those that hold on to their connections after a refusal lose them', async () => {
    // Both ends of every connection live in this process.
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
    const had = sockets()
    const lines = await Promise.all(Array.from({ length: 60 }, () => open(t.url)))
    for (const line of lines) {
      line.send('no request at all\r\n\r\n')
      expect(codesOf(await line.heard({ untilClosed: true }))).toEqual(['VALIDATION_ERROR'])
    }
    expect(sockets() - had).toBeGreaterThan(100)
    await expect.poll(() => sockets() - had, { timeout: slackMs }).toBeLessThan(80)
    for (const line of lines) line.close()
  })

  /** Asks for more than the buffers between the two take, and reads none of it. */
  const askUnread = async (url: string): Promise<Line> => {
    const line = await open(url)
    line.socket.pause()
    const size = (await t.ask('GET', '/api/openapi.json')).text.length
    line.send('GET /api/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(Math.ceil(40_000_000 / size)))
    return line
  }

  test('one that never reads its answers holds up nobody', async () => {
    const line = await askUnread(t.url)
    for (let i = 0; i < 20; i++) {
      expect((await t.ask('GET', '/api/v1/suppressions', { key })).status).toBe(200)
    }
    line.reset()
  })

  test('two thousand that say nothing leave room for the others', { timeout: 60_000 }, async () => {
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
        const { answers } = await tell(patient.url, i % 2 === 0 ? list() : whole(`crowd${i}@example.com`))
        expect((answers[0] as Answer).status).toBe(i % 2 === 0 ? 200 : 201)
      }
    } finally {
      for (const socket of idle) socket.destroy()
      await patient.stop()
    }
  })

  const unfinished = async (url: string, bytes: number): Promise<Line> => {
    const line = await open(url)
    line.send(`${head(`Content-Length: ${bytes}\r\n`)}{`)
    return line
  }

  test.each<[string, (url: string) => Promise<Line>]>([
    ['never reads its answers', askUnread],
    ['never finishes its request', (url) => unfinished(url, 100)],
    ['never finishes one that is too large', (url) => unfinished(url, 7 * 1_048_576)],
  ])('one that %s does not keep the service from stopping', { timeout: 60_000 }, async (_how, begin) => {
    const service = await startTestService({
      database: t.database,
      env: { RATE_LIMITER: 'off', REQUEST_TIMEOUT_SECONDS: '2' },
      log,
    })
    const line = await begin(service.url)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const stopped = service.stop().then(() => 'stopped')
    const late = new Promise((resolve) => setTimeout(resolve, 25_000, 'still waiting').unref())
    const outcome = await Promise.race([stopped, late])
    line.reset()
    await stopped
    expect(outcome).toBe('stopped')
  })
})
