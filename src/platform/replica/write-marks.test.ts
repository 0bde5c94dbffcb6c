import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makeRedisMarks } from './redis-marks.ts'
import { makeMemoryMarks, markLifeMs } from './write-marks.ts'

test('The age of a mark is the time since the last write of any of its subjects', () => {
  let now = 1_000
  const marks = makeMemoryMarks(() => now)
  expect(marks.age(['org_1'])).toBe(Number.POSITIVE_INFINITY)
  marks.wrote(['org_1', 'usr_1'])
  now = 1_500
  marks.wrote(['usr_1'])
  now = 1_700
  expect([marks.age(['org_1']), marks.age(['org_1', 'usr_1']), marks.age(['org_2'])]).toEqual([
    700,
    200,
    Number.POSITIVE_INFINITY,
  ])
})

test('Old marks are removed by the next write', () => {
  let now = 0
  const marks = makeMemoryMarks(() => now)
  marks.wrote(['org_1'])
  now = 1
  marks.wrote(['org_2'])
  now = markLifeMs + 1
  marks.wrote(['org_3'])
  expect([marks.age(['org_1']), marks.age(['org_2'])]).toEqual([Number.POSITIVE_INFINITY, markLifeMs])
})

/** A fake Redis that keeps keys with the life they were given, and can lose them or stop replying. */
const startFakeRedis = async () => {
  const lives = new Map<string, number>()
  const sockets = new Set<Socket>()
  const state = { silent: false, readOnly: false, elapsedMs: 0 }
  const replyTo = ([name, key = '', ...rest]: string[]): string => {
    if (name === 'HELLO') return '%1\r\n+server\r\n+redis\r\n'
    if (name === 'SET' && state.readOnly) return "-READONLY You can't write against a read only replica.\r\n"
    if (name === 'SET') lives.set(key, Number(rest.at(-1)) + state.elapsedMs)
    if (name === 'PTTL') return `:${lives.has(key) ? (lives.get(key) as number) - state.elapsedMs : -2}\r\n`
    return '+OK\r\n'
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
    socket.setEncoding('latin1').on('data', (data: string) => {
      if (state.silent) return
      for (const command of data.split(/(?=^\*\d+\r\n)/m)) {
        socket.write(replyTo(command.split('\r\n').filter((line) => line !== '' && !/^[*$]\d+$/.test(line))))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(async () => {
    cut()
    await new Promise((done) => server.close(done))
  })
  const onConnection = (connected: () => void) => server.once('connection', connected)
  return { state, lives, cut, onConnection, url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const marksOn = (url: string) => {
  const log = { info: vi.fn(), warn: vi.fn() }
  const marks = makeRedisMarks({ url, log, prefix: 'p:', timeoutMs: 50 })
  onTestFinished(() => marks.close())
  return { marks, log }
}

const hour = 3_600_000

test('Two processes see the marks of each other through Redis, by the clock of Redis', async () => {
  const redis = await startFakeRedis()
  const [one, two] = [marksOn(redis.url), marksOn(redis.url)]
  await expect.poll(async () => [await one.marks.age(['org_1']), await two.marks.age(['org_1'])]).not.toContain(null)
  await one.marks.wrote(['org_1', 'usr_1'])
  expect([...redis.lives]).toEqual([
    ['p:wrote:org_1', markLifeMs],
    ['p:wrote:usr_1', markLifeMs],
  ])
  expect(await two.marks.age(['org_1'])).toBe(0)
  // The marks of this process are no older than its connection.
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + hour)
  onTestFinished(() => void vi.restoreAllMocks())
  redis.state.elapsedMs = 5_000
  expect(await two.marks.age(['org_2', 'org_1'])).toBe(4_999)
  expect(await two.marks.age(['org_2'])).toBeGreaterThan(hour - 60_000)
})

test('While Redis does not reply no age is known, and what was written then is marked afterwards', async () => {
  const redis = await startFakeRedis()
  const { marks, log } = marksOn(redis.url)
  await expect.poll(() => marks.age(['org_1'])).not.toBeNull()
  redis.state.silent = true
  await marks.wrote(['org_1'])
  expect([await marks.age(['org_1']), redis.lives.size]).toEqual([null, 0])
  redis.state.silent = false
  redis.cut()
  await expect.poll(() => [...redis.lives.keys()]).toEqual(['p:wrote:org_1'])
  await expect.poll(() => marks.age(['org_1'])).not.toBeNull()
  expect(log.warn.mock.calls.map(([, message]) => message)).toContain(
    'marks of writes unavailable, reads go to the primary',
  )
  expect(log.info.mock.calls.at(-1)).toEqual(['marks of writes available again'])
})

test('A connection to a master that became a replica is replaced, and what was written meanwhile is marked', async () => {
  const redis = await startFakeRedis()
  const { marks } = marksOn(redis.url)
  await expect.poll(() => marks.age(['org_1'])).not.toBeNull()
  redis.state.readOnly = true
  redis.onConnection(() => {
    redis.state.readOnly = false
  })
  await marks.wrote(['org_1'])
  expect(redis.lives.size).toBe(0)
  await expect.poll(() => [...redis.lives.keys()]).toEqual(['p:wrote:org_1'])
})

test('After a reconnect everything counts as just written, because Redis may have lost its marks', async () => {
  const redis = await startFakeRedis()
  const { marks } = marksOn(redis.url)
  await expect.poll(() => marks.age(['org_1'])).not.toBeNull()
  const now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockReturnValue(now + hour)
  onTestFinished(() => void vi.restoreAllMocks())
  expect(await marks.age(['org_1'])).toBeGreaterThan(hour - 60_000)
  redis.cut()
  await expect.poll(() => marks.age(['org_1'])).toBe(0)
  clock.mockReturnValue(now + hour + 700)
  expect(await marks.age(['org_1'])).toBe(700)
})

test('Neither an error nor the log contains the password of Redis', async () => {
  expect(() => marksOn('http://:hunter2@127.0.0.1')).toThrow('the Redis URL must be a valid redis:// or rediss:// URL')
  const { marks, log } = marksOn('redis://:hunter2@127.0.0.1:1')
  expect(await marks.age(['org_1'])).toBeNull()
  await expect.poll(() => log.warn.mock.calls.length).toBe(1)
  expect(JSON.stringify(log.warn.mock.calls)).not.toContain('hunter2')
})
