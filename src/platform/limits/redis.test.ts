import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from 'redis'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { silentLog } from '../ground/log.ts'
import type { Bucket, Limiter } from './limiter.ts'
import { makeRedisLimiter } from './redis.ts'

vi.setConfig({ testTimeout: 20_000 })

const minute = 60_000
const start = 1_800_000_000_000
const bucket: Bucket = { name: '{org_1}', limit: 5, windowMs: minute }

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp()
})

/** Parses the complete commands at the start of the received text. */
const readCommands = (received: string): { commands: string[][]; rest: string } => {
  const commands: string[][] = []
  let rest = received
  for (;;) {
    const head = /^\*(\d+)\r\n/.exec(rest)
    if (head === null) return { commands, rest }
    let at = head[0].length
    const words: string[] = []
    for (let i = 0; i < Number(head[1]); i++) {
      const size = /^\$(\d+)\r\n/.exec(rest.slice(at, at + 16))
      if (size === null) return { commands, rest }
      at += size[0].length
      words.push(rest.slice(at, at + Number(size[1])))
      at += Number(size[1]) + 2
    }
    if (at > rest.length) return { commands, rest }
    commands.push(words)
    rest = rest.slice(at)
  }
}

const countedReply = `*3\r\n:0\r\n:4\r\n:${start + minute}\r\n`

/** A fake Redis that speaks just enough of the protocol, and can misbehave in ways that a real one cannot. */
const startFakeRedis = async (port = 0) => {
  const sockets = new Set<Socket>()
  const muted = new WeakSet<Socket>()
  const received: string[][] = []
  const redis = {
    commands: received,
    silent: false,
    delayMs: 0,
    reply: (command: string[]): string => (command[0] === 'EVALSHA' ? countedReply : '+OK\r\n'),
    scripts: () => received.filter(([name]) => name === 'EVALSHA' || name === 'EVAL'),
    /** Stops replying on the current connections. New connections get replies. */
    muteConnections: () => {
      for (const socket of sockets) muted.add(socket)
    },
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    port: 0,
    url: '',
    stop: async () => {
      redis.cut()
      await new Promise((done) => server.close(done))
    },
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    let buffered = ''
    socket.setEncoding('latin1').on('data', (data: string) => {
      const { commands, rest } = readCommands(buffered + data)
      buffered = rest
      for (const command of commands) {
        received.push(command)
        if (redis.silent || muted.has(socket)) continue
        const reply = command[0] === 'HELLO' ? '%1\r\n+server\r\n+redis\r\n' : redis.reply(command)
        if (redis.delayMs === 0) socket.write(reply)
        else setTimeout(() => socket.write(reply), redis.delayMs)
      }
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  redis.port = (server.address() as AddressInfo).port
  redis.url = `redis://127.0.0.1:${redis.port}`
  cleanups.push(redis.stop)
  return redis
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}

const watchedLog = () => ({ info: vi.fn(), warn: vi.fn() })

/** Longer than a test may take, so that a busy machine does not look like a server that is away. */
const patientMs = 60_000
const usualMs = 250

const limiterOf = async (url: string, timeoutMs = patientMs) => {
  const log = watchedLog()
  const limiter = await makeRedisLimiter({ url, log, timeoutMs })
  cleanups.push(() => limiter.close())
  return { limiter, log }
}

const untilAvailable = async (limiter: Limiter): Promise<void> => {
  await expect.poll(() => limiter.take([bucket], start), { interval: 20 }).not.toBeNull()
}

test('without a server it starts, allows calls at once and logs one line', async () => {
  const url = `redis://127.0.0.1:${await freePort()}`
  const { limiter, log } = await limiterOf(url)
  const calls = await Promise.all(Array.from({ length: 1_000 }, () => limiter.take([bucket], start)))
  expect(calls.every((taken) => taken === null)).toBe(true)
  expect(await limiter.peek(bucket, start)).toBeNull()
  expect(log.warn).toHaveBeenCalledTimes(1)
})

test('a server that accepts connections and never replies prevents neither the start nor a call', async () => {
  const redis = await startFakeRedis()
  redis.silent = true
  const { limiter, log } = await limiterOf(redis.url, usualMs)
  expect(await limiter.take([bucket], start)).toBeNull()
  expect(redis.scripts()).toHaveLength(0)
  expect(log.warn).toHaveBeenCalledTimes(1)
})

test('a server that stops replying delays the calls in flight by 250 ms, and later calls not at all', async () => {
  const redis = await startFakeRedis()
  const { limiter, log } = await limiterOf(redis.url, usualMs)
  await untilAvailable(limiter)
  redis.silent = true
  const began = performance.now()
  expect(await limiter.take([bucket], start)).toBeNull()
  expect(performance.now() - began).toBeGreaterThan(usualMs - 10)
  const scriptsBefore = redis.scripts().length
  const later = await Promise.all(Array.from({ length: 100 }, () => limiter.take([bucket], start)))
  expect(later.every((taken) => taken === null)).toBe(true)
  expect(redis.scripts()).toHaveLength(scriptsBefore)
  expect(log.warn).toHaveBeenCalledTimes(1)
})

test('a reply that is too late is ignored, but shows that the store is available', async () => {
  const redis = await startFakeRedis()
  const { limiter } = await limiterOf(redis.url, 100)
  redis.delayMs = 300
  expect(await limiter.take([bucket], start)).toBeNull()
  redis.delayMs = 0
  await untilAvailable(limiter)
  expect(redis.commands.filter(([name]) => name === 'HELLO')).toHaveLength(1)
})

test('a dead connection is replaced, and calls are limited again', async () => {
  const redis = await startFakeRedis()
  const { limiter, log } = await limiterOf(redis.url, 50)
  redis.muteConnections()
  expect(await limiter.take([bucket], start)).toBeNull()
  await untilAvailable(limiter)
  expect(redis.commands.filter(([name]) => name === 'HELLO').length).toBeGreaterThan(1)
  expect(log.info).toHaveBeenCalledTimes(1)
})

test('a store that becomes available after the start is used', async () => {
  const port = await freePort()
  const { limiter, log } = await limiterOf(`redis://127.0.0.1:${port}`)
  await sleep(600)
  expect(await limiter.take([bucket], start)).toBeNull()
  await startFakeRedis(port)
  await untilAvailable(limiter)
  expect(log.info).toHaveBeenCalledTimes(1)
})

test('when the connection is cut, waiting calls return null at once and the limiter reconnects', async () => {
  const redis = await startFakeRedis()
  const { limiter } = await limiterOf(redis.url)
  redis.silent = true
  const waiting = Promise.all([limiter.take([bucket], start), limiter.peek(bucket, start)])
  await expect.poll(() => redis.scripts().length).toBe(2)
  redis.cut()
  expect(await waiting).toEqual([null, null])
  redis.silent = false
  await untilAvailable(limiter)
})

test('at most 10,000 calls wait for a reply, and further calls are allowed', async () => {
  const redis = await startFakeRedis()
  const { limiter } = await limiterOf(redis.url, 2_000)
  redis.silent = true
  let allowed = 0
  const calls = Array.from({ length: 10_050 }, async () => {
    if ((await limiter.take([bucket], start)) === null) allowed += 1
  })
  await sleep(0)
  expect(allowed).toBe(50)
  await Promise.all(calls)
  expect(allowed).toBe(10_050)
})

test('a call is allowed when the server returns an error', async () => {
  const redis = await startFakeRedis()
  const { limiter, log } = await limiterOf(redis.url)
  redis.reply = () => '-LOADING Redis is loading the dataset in memory\r\n'
  expect(await limiter.take([bucket], start)).toBeNull()
  expect(log.warn.mock.calls[0]![0]).toMatchObject({ reason: expect.stringContaining('LOADING') })
})

test('a connection to a master that became a replica is replaced, at most once a second', async () => {
  const redis = await startFakeRedis()
  const { limiter, log } = await limiterOf(redis.url)
  const answered = redis.reply
  redis.reply = ([name = '']) =>
    name.startsWith('EVAL') ? "-READONLY You can't write against a read only replica.\r\n" : '+OK\r\n'
  const connections = () => redis.commands.filter(([name]) => name === 'HELLO').length
  expect(await Promise.all([limiter.take([bucket], start), limiter.take([bucket], start)])).toEqual([null, null])
  await expect.poll(connections).toBe(2)
  redis.reply = answered
  await untilAvailable(limiter)
  expect(connections()).toBe(2)
  expect(log.warn.mock.calls[0]![0]).toMatchObject({ reason: expect.stringContaining('READONLY') })
  expect(log.info).toHaveBeenCalledTimes(1)
})

test('the script text is sent only when the server does not know the script', async () => {
  const redis = await startFakeRedis()
  const { limiter } = await limiterOf(redis.url)
  let known = false
  redis.reply = ([name]) => {
    if (name === 'EVAL') known = true
    return name === 'EVAL' || (name === 'EVALSHA' && known) ? countedReply : '-NOSCRIPT No matching script.\r\n'
  }
  for (let i = 0; i < 3; i++) expect(await limiter.take([bucket], start)).toMatchObject({ allowed: true })
  expect(redis.scripts().map(([name]) => name)).toEqual(['EVALSHA', 'EVAL', 'EVALSHA', 'EVALSHA'])
})

test('all buckets of a call are sent in one command, with the braces of their names in the keys', async () => {
  const redis = await startFakeRedis()
  const { limiter } = await limiterOf(redis.url)
  redis.reply = () => `*5\r\n:0\r\n:4\r\n:1\r\n:3\r\n:2\r\n`
  await limiter.take([{ ...bucket, name: '{org_1}:key:key_1' }, bucket], start)
  expect(redis.scripts()).toHaveLength(1)
  const [, , keys, ...words] = redis.scripts()[0]!
  expect(keys).toBe('2')
  expect(words.slice(0, 2)).toEqual(['tidings:limit:{org_1}:key:key_1', 'tidings:limit:{org_1}'])
})

test('after closing, waiting and later calls return null, and nothing is logged', async () => {
  const redis = await startFakeRedis()
  const { limiter, log } = await limiterOf(redis.url, 5_000)
  redis.silent = true
  const waiting = limiter.take([bucket], start)
  await limiter.close()
  expect(await waiting).toBeNull()
  expect(await limiter.take([bucket], start)).toBeNull()
  await limiter.close()
  expect(log.warn).not.toHaveBeenCalled()
})

test('neither the log nor an error contains the password of the store', async () => {
  const { limiter, log } = await limiterOf(`redis://user:hunter2@127.0.0.1:${await freePort()}`)
  await limiter.take([bucket], start)
  expect(log.warn).toHaveBeenCalled()
  expect(JSON.stringify(log.warn.mock.calls)).not.toContain('hunter2')
  const error = await makeRedisLimiter({ url: 'http://user:hunter2@127.0.0.1', log }).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(Error)
  expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain('hunter2')
})

const redisUrl = process.env.REDIS_URL
const onRealServer = (url: string) => {
  const connect = async () => {
    const limiter = await makeRedisLimiter({ url: url, log: silentLog(), timeoutMs: 10_000 })
    const client = await createClient({ url: url }).connect()
    cleanups.push(() => limiter.close())
    cleanups.push(() => client.close())
    const owner = `{${randomUUID()}}`
    const own = (kind: string, limit: number): Bucket => ({
      name: `${owner}:${kind}`,
      limit,
      windowMs: minute,
    })
    return { limiter, client, own, keyOf: ({ name }: Bucket) => `tidings:limit:${name}` }
  }

  test('a bucket is one key with one entry per millisecond', async () => {
    const { limiter, client, own, keyOf } = await connect()
    const org = own('org', 10_000_000)
    for (let i = 0; i < 300; i++) await limiter.take([org], start + (i % 3 === 0 ? i : i - (i % 3)), 1_000)
    // One entry for each of 100 milliseconds, and the entry that has left.
    expect(await client.lLen(keyOf(org))).toBe(101)
    expect(await client.keys(`tidings:limit:${org.name.slice(0, 38)}*`)).toEqual([keyOf(org)])
  })

  test('keys expire after the window, not within it', async () => {
    const { limiter, client, own, keyOf } = await connect()
    const org = own('org', 100)
    await limiter.take([org], start)
    const fresh = await client.pTTL(keyOf(org))
    expect(fresh).toBeGreaterThan(minute + 5_000)
    expect(fresh).toBeLessThanOrEqual(minute + 10_000)
    await client.pExpire(keyOf(org), 1_500)
    await limiter.take([org], start + 999)
    expect(await client.pTTL(keyOf(org))).toBeLessThanOrEqual(1_500)
    await limiter.take([org], start + 1_000)
    expect(await client.pTTL(keyOf(org))).toBeGreaterThan(minute + 5_000)
  })

  test('a refused call and a read leave no key', async () => {
    const { limiter, client, own, keyOf } = await connect()
    const [open, closed] = [own('open', 5), own('closed', 0)]
    await limiter.take([open, closed], start)
    await limiter.peek(open, start)
    expect(await client.exists([keyOf(open), keyOf(closed)])).toBe(0)
    await limiter.take([open], start)
    await limiter.peek(open, start + minute)
    expect(await client.exists(keyOf(open))).toBe(0)
  })

  test('two processes share one bucket', async () => {
    const [one, other] = [await connect(), await connect()]
    const org = one.own('org', 50)
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, i) => (i % 2 ? one : other).limiter.take([org], start + (i % 2) * 3)),
    )
    expect(results.filter((taken) => taken!.allowed)).toHaveLength(50)
  })

  test('a reply that came in time counts, even if this process was too busy to read it', async () => {
    const { own } = await connect()
    const limiter = await makeRedisLimiter({ url: url, log: silentLog(), timeoutMs: 100 })
    cleanups.push(() => limiter.close())
    const org = own('org', 5)
    await expect.poll(() => limiter.take([org], start)).not.toBeNull()
    const taking = limiter.take([org], start)
    // The command is sent in the next turn of the event loop.
    await new Promise((turn) => setImmediate(() => setImmediate(turn)))
    const until = performance.now() + 300
    while (performance.now() < until);
    expect(await taking).toMatchObject({ allowed: true })
  })

  test('the script is loaded again when the server has lost it', async () => {
    const { limiter, client, own } = await connect()
    const org = own('org', 5)
    await limiter.take([org], start)
    await client.scriptFlush()
    expect(await limiter.take([org], start)).toMatchObject({ states: [{ remaining: 3 }] })
  })
}
if (redisUrl !== undefined) describe('on a real server', () => onRealServer(redisUrl))
