import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { watchTables } from '../../../test/expect/refusal.ts'
import { testService } from '../../../test/service/service.ts'
import { makeUploads } from './uploads.ts'

const startIn = (uploads: ReturnType<typeof makeUploads>, refused: string[]) => (caller: string, bytes: number) => {
  const upload = uploads.start(caller, ({ code }) => refused.push(`${caller} ${bytes} ${code}`))
  upload.add(bytes)
  return upload
}

test('An upload above the limit of its caller is refused, and other uploads are not affected', () => {
  const uploads = makeUploads({ perCaller: 10, total: 100 })
  const refused: string[] = []
  const start = startIn(uploads, refused)
  const [first, second, other] = [start('a', 6), start('a', 4), start('b', 10)]
  expect([refused, uploads.held()]).toEqual([[], 20])
  second.add(1)
  second.add(50)
  expect([refused, uploads.held()]).toEqual([['a 4 RATE_LIMITED'], 16])
  first.add(4)
  for (const upload of [first, second, other, other]) upload.end()
  expect([refused.length, uploads.held()]).toEqual([1, 0])
})

test('Above the total, the largest upload of the caller that holds the most is refused', () => {
  const uploads = makeUploads({ perCaller: 60, total: 100 })
  const refused: string[] = []
  const start = startIn(uploads, refused)
  start('most', 20)
  start('most', 30)
  const modest = start('modest', 45)
  expect([refused, uploads.held()]).toEqual([[], 95])
  modest.add(2)
  start('new', 4)
  expect([refused, uploads.held()]).toEqual([['most 30 UNAVAILABLE'], 71])
})

const kilobyte = 1_024

/** Sends a part of a body and waits. */
const upload = (url: string, key: string, bytes: { announced: number; sent: number }): Socket => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  const head = `POST /api/v1/suppressions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json`
  socket.write(`${head}\r\nContent-Length: ${bytes.announced}\r\n\r\n`)
  socket.write(Buffer.alloc(bytes.sent, 0x20))
  return socket
}

const serviceWith = async (perCaller: number, total: number) => {
  const t = await testService({ config: { uploads: { perCaller: perCaller * kilobyte, total: total * kilobyte } } })
  const { org } = await t.org()
  return {
    t,
    newKey: () => t.key(org.id, { scopes: ['write:suppressions'] }),
    /** In kilobytes. */
    held: async () => Number(/^http_upload_bytes (\d+)$/m.exec((await t.ask('GET', '/metrics')).text)?.[1]) / kilobyte,
  }
}

test('The bodies that one key is sending are limited: more of them get a 429 until one of them ends', async () => {
  const { t, newKey, held } = await serviceWith(1_000, 10_000)
  const [key, otherKey] = [await newKey(), await newKey()]
  const leavesNoTrace = await watchTables(t.database)
  const send = (by: string) =>
    t.ask('POST', '/api/v1/suppressions', { key: by, raw: Buffer.alloc(200 * kilobyte, 0x20) })
  const stalled = upload(t.url, key, { announced: 900 * kilobyte, sent: 899 * kilobyte })
  await expect.poll(held).toBe(899)
  await leavesNoTrace(async () => {
    const refused = await send(key)
    expect([refused.status, refused.headers['retry-after'], refused.body.error]).toEqual([
      429,
      '5',
      {
        type: 'rate_limit_error',
        code: 'RATE_LIMITED',
        message: 'Too many of your request bodies are arriving at once. Retry with fewer requests in parallel.',
        request_id: refused.headers['x-request-id'],
      },
    ])
    expect((await send(otherKey)).body.error.code).toBe('VALIDATION_ERROR')
    stalled.destroy()
    await expect.poll(held).toBe(0)
    expect((await send(key)).body.error.code).toBe('VALIDATION_ERROR')
  })
})

test('The bodies of all keys together are limited: the largest gets a 503, and the others are received', async () => {
  const { t, newKey, held } = await serviceWith(1_000, 2_000)
  const announced = 950 * kilobyte
  const answerOf = async (socket: Socket, rest: number) => {
    socket.write(Buffer.alloc(rest * kilobyte, 0x20))
    return String((await socket.iterator().next()).value)
  }
  const large = upload(t.url, await newKey(), { announced, sent: 940 * kilobyte })
  const middle = upload(t.url, await newKey(), { announced, sent: 900 * kilobyte })
  await expect.poll(held).toBe(1_840)
  const small = upload(t.url, await newKey(), { announced, sent: 300 * kilobyte })
  await expect.poll(held).toBe(1_200)
  const refusal = await answerOf(large, 10)
  expect(refusal).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 5\r\n.*"code":"UNAVAILABLE"/is)
  for (const [socket, rest] of [
    [middle, 50],
    [small, 650],
  ] as const) {
    expect(await answerOf(socket, rest)).toMatch(/^HTTP\/1\.1 422 .*"code":"VALIDATION_ERROR"/s)
  }
})
