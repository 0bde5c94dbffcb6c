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

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

/** Takes whole commands off the front of what has arrived. */
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

const counted = `*3\r\n:0\r\n:4\r\n:${start + minute}\r\n`

/** As much of a Redis as the wire needs, made to misbehave where a real one cannot be asked to. */
const standIn = async (port = 0) => {
  const sockets = new Set<Socket>()
  const deaf = new WeakSet<Socket>()
  const asked: string[][] = []
  const redis = {
    asked,
    silent: false,
    delayMs: 0,
    reply: (command: string[]): string => (command[0] === 'EVALSHA' ? counted : '+OK\r\n'),
    scripts: () => asked.filter(([name]) => name === 'EVALSHA' || name === 'EVAL'),
    /** The connections there are now never carry an answer again; new ones do. */
    deafen: () => {
      for (const socket of sockets) deaf.add(socket)
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
    let received = ''
    socket.setEncoding('latin1').on('data', (data: string) => {
      const { commands, rest } = readCommands(received + data)
      received = rest
      for (const command of commands) {
        asked.push(command)
        if (redis.silent || deaf.has(socket)) continue
        const answer = command[0] === 'HELLO' ? '%1\r\n+server\r\n+redis\r\n' : redis.reply(command)
        if (redis.delayMs === 0) socket.write(answer)
        else setTimeout(() => socket.write(answer), redis.delayMs)
      }
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  redis.port = (server.address() as AddressInfo).port
  redis.url = `redis://127.0.0.1:${redis.port}`
  endings.push(redis.stop)
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

const limiterOf = async (url: string, timeoutMs?: number) => {
  const log = watchedLog()
  const limiter = await makeRedisLimiter({ url, log, timeoutMs })
  endings.push(() => limiter.close())
  return { limiter, log }
}

const timed = async <T>(work: () => T | Promise<T>): Promise<{ value: T; ms: number }> => {
  const began = performance.now()
  const value = await work()
  return { value, ms: performance.now() - began }
}

const untilAnswered = async (limiter: Limiter): Promise<void> => {
  await expect.poll(() => limiter.take([bucket], start), { timeout: 10_000, interval: 20 }).not.toBeNull()
}

test('with nothing listening it starts, calls pass at once and one line is logged', async () => {
  const url = `redis://127.0.0.1:${await freePort()}`
  const { value, ms } = await timed(() => limiterOf(url))
  expect(ms).toBeLessThan(1_000)
  const calls = await timed(() => Promise.all(Array.from({ length: 1_000 }, () => value.limiter.take([bucket], start))))
  expect(calls.value.every((taken) => taken === null)).toBe(true)
  expect(calls.ms).toBeLessThan(1_000)
  expect(await value.limiter.peek(bucket, start)).toBeNull()
  expect(value.log.warn).toHaveBeenCalledTimes(1)
})

test('a server that accepts and never answers delays neither the start nor any call', async () => {
  const redis = await standIn()
  redis.silent = true
  const { value, ms } = await timed(() => limiterOf(redis.url))
  expect(ms).toBeLessThan(1_000)
  const call = await timed(() => value.limiter.take([bucket], start))
  expect(call.value).toBeNull()
  expect(call.ms).toBeLessThan(1_000)
  expect(redis.scripts()).toHaveLength(0)
  expect(value.log.warn).toHaveBeenCalledTimes(1)
})

test('a server that falls silent costs its calls 250 ms once, and later calls nothing', async () => {
  const redis = await standIn()
  const { limiter, log } = await limiterOf(redis.url)
  expect(await limiter.take([bucket], start)).toMatchObject({ allowed: true })
  redis.silent = true
  const first = await timed(() => limiter.take([bucket], start))
  expect(first.value).toBeNull()
  expect(first.ms).toBeGreaterThan(240)
  expect(first.ms).toBeLessThan(1_000)
  const asked = redis.scripts().length
  const later = await Promise.all(Array.from({ length: 100 }, () => limiter.take([bucket], start)))
  expect(later.every((taken) => taken === null)).toBe(true)
  expect(redis.scripts()).toHaveLength(asked)
  expect(log.warn).toHaveBeenCalledTimes(1)
})

test('an answer that comes too late is not waited for, and shows that the store is there', async () => {
  const redis = await standIn()
  const { limiter } = await limiterOf(redis.url, 100)
  redis.delayMs = 300
  expect(await limiter.take([bucket], start)).toBeNull()
  redis.delayMs = 0
  await untilAnswered(limiter)
  expect(redis.asked.filter(([name]) => name === 'HELLO')).toHaveLength(1)
})

test('a connection gone dead is replaced, and limits hold again', async () => {
  const redis = await standIn()
  const { limiter, log } = await limiterOf(redis.url, 50)
  redis.deafen()
  expect(await limiter.take([bucket], start)).toBeNull()
  await untilAnswered(limiter)
  expect(redis.asked.filter(([name]) => name === 'HELLO').length).toBeGreaterThan(1)
  expect(log.info).toHaveBeenCalledTimes(1)
})

test('a store that comes up after the start is used from then on', async () => {
  const port = await freePort()
  const { limiter, log } = await limiterOf(`redis://127.0.0.1:${port}`)
  await sleep(600)
  expect(await limiter.take([bucket], start)).toBeNull()
  await standIn(port)
  await untilAnswered(limiter)
  expect(log.info).toHaveBeenCalledTimes(1)
})

test('a cut connection answers the waiting calls null at once and reconnects by itself', async () => {
  const redis = await standIn()
  const { limiter } = await limiterOf(redis.url, 5_000)
  redis.silent = true
  const waiting = timed(() => Promise.all([limiter.take([bucket], start), limiter.peek(bucket, start)]))
  await expect.poll(() => redis.scripts().length).toBe(2)
  redis.cut()
  const { value, ms } = await waiting
  expect(value).toEqual([null, null])
  expect(ms).toBeLessThan(2_000)
  redis.silent = false
  await untilAnswered(limiter)
})

test('no more than ten thousand calls wait for an answer; the next ones pass', async () => {
  const redis = await standIn()
  const { limiter } = await limiterOf(redis.url, 2_000)
  redis.silent = true
  let passed = 0
  const calls = Array.from({ length: 10_050 }, async () => {
    if ((await limiter.take([bucket], start)) === null) passed += 1
  })
  await sleep(0)
  expect(passed).toBe(50)
  await Promise.all(calls)
  expect(passed).toBe(10_050)
})

test('a refusal by the server itself lets the call pass', async () => {
  const redis = await standIn()
  const { limiter, log } = await limiterOf(redis.url)
  redis.reply = () => '-LOADING Redis is loading the dataset in memory\r\n'
  expect(await limiter.take([bucket], start)).toBeNull()
  expect(log.warn.mock.calls[0]![0]).toMatchObject({ reason: expect.stringContaining('LOADING') })
})

test('the script travels whole only when the server does not know it', async () => {
  const redis = await standIn()
  const { limiter } = await limiterOf(redis.url)
  let known = false
  redis.reply = ([name]) => {
    if (name === 'EVAL') known = true
    return name === 'EVAL' || (name === 'EVALSHA' && known) ? counted : '-NOSCRIPT No matching script.\r\n'
  }
  for (let i = 0; i < 3; i++) expect(await limiter.take([bucket], start)).toMatchObject({ allowed: true })
  expect(redis.scripts().map(([name]) => name)).toEqual(['EVALSHA', 'EVAL', 'EVALSHA', 'EVALSHA'])
})

test('all buckets of a call go in one command, under keys that keep the braces of their names', async () => {
  const redis = await standIn()
  const { limiter } = await limiterOf(redis.url)
  redis.reply = () => `*5\r\n:0\r\n:4\r\n:1\r\n:3\r\n:2\r\n`
  await limiter.take([{ ...bucket, name: '{org_1}:key:key_1' }, bucket], start)
  expect(redis.scripts()).toHaveLength(1)
  const [, , keys, ...words] = redis.scripts()[0]!
  expect(keys).toBe('2')
  expect(words.slice(0, 2)).toEqual(['tidings:limit:{org_1}:key:key_1', 'tidings:limit:{org_1}'])
})

test('closing answers the waiting calls null, logs nothing, and later calls pass', async () => {
  const redis = await standIn()
  const { limiter, log } = await limiterOf(redis.url, 5_000)
  redis.silent = true
  const waiting = limiter.take([bucket], start)
  await limiter.close()
  expect(await waiting).toBeNull()
  expect(await limiter.take([bucket], start)).toBeNull()
  await limiter.close()
  expect(log.warn).not.toHaveBeenCalled()
})

test('neither a line nor an error shows the password of the store', async () => {
  const { limiter, log } = await limiterOf(`redis://user:hunter2@127.0.0.1:${await freePort()}`)
  await limiter.take([bucket], start)
  expect(log.warn).toHaveBeenCalled()
  expect(JSON.stringify(log.warn.mock.calls)).not.toContain('hunter2')
  const faulty = await makeRedisLimiter({ url: 'http://user:hunter2@127.0.0.1', log }).catch((error) => error)
  expect(faulty).toBeInstanceOf(Error)
  expect(`${faulty.stack} ${JSON.stringify(faulty)} ${String(faulty.cause)}`).not.toContain('hunter2')
})

const redisUrl = process.env.REDIS_URL
const onRealServer = (url: string) => {
  const open = async () => {
    const limiter = await makeRedisLimiter({ url: url, log: silentLog(), timeoutMs: 10_000 })
    const client = await createClient({ url: url }).connect()
    endings.push(() => limiter.close())
    endings.push(() => client.close())
    const owner = `{${randomUUID()}}`
    const own = (kind: string, limit: number): Bucket => ({
      name: `${owner}:${kind}`,
      limit,
      windowMs: minute,
    })
    return { limiter, client, own, keyOf: ({ name }: Bucket) => `tidings:limit:${name}` }
  }

  test('a bucket is one key with one entry for each millisecond', async () => {
    const { limiter, client, own, keyOf } = await open()
    const org = own('org', 10_000_000)
    for (let i = 0; i < 300; i++) await limiter.take([org], start + (i % 3 === 0 ? i : i - (i % 3)), 1_000)
    // 100 milliseconds, and the marker of what has left.
    expect(await client.lLen(keyOf(org))).toBe(101)
    expect(await client.keys(`tidings:limit:${org.name.slice(0, 38)}*`)).toEqual([keyOf(org)])
  })

  test('keys expire after the window and not within it', async () => {
    const { limiter, client, own, keyOf } = await open()
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

  test('a refused call and a reading leave no key behind', async () => {
    const { limiter, client, own, keyOf } = await open()
    const [fine, closed] = [own('fine', 5), own('closed', 0)]
    await limiter.take([fine, closed], start)
    await limiter.peek(fine, start)
    expect(await client.exists([keyOf(fine), keyOf(closed)])).toBe(0)
    await limiter.take([fine], start)
    await limiter.peek(fine, start + minute)
    expect(await client.exists(keyOf(fine))).toBe(0)
  })

  test('two processes share one bucket', async () => {
    const [one, other] = [await open(), await open()]
    const org = one.own('org', 50)
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => (i % 2 ? one : other).limiter.take([org], start + (i % 2) * 3)),
    )
    expect(answers.filter((taken) => taken!.allowed)).toHaveLength(50)
  })

  test('an answer that came in time counts, though this process was too busy to read it', async () => {
    const { own } = await open()
    const limiter = await makeRedisLimiter({ url: url, log: silentLog(), timeoutMs: 100 })
    endings.push(() => limiter.close())
    const org = own('org', 5)
    await expect.poll(() => limiter.take([org], start)).not.toBeNull()
    const taking = limiter.take([org], start)
    // The question leaves in the next turn of the event loop.
    await new Promise((turn) => setImmediate(() => setImmediate(turn)))
    const until = performance.now() + 300
    while (performance.now() < until);
    expect(await taking).toMatchObject({ allowed: true })
  })

  test('a server that forgot its scripts is taught again', async () => {
    const { limiter, client, own } = await open()
    const org = own('org', 5)
    await limiter.take([org], start)
    await client.scriptFlush()
    expect(await limiter.take([org], start)).toMatchObject({ states: [{ remaining: 3 }] })
  })
}
if (redisUrl !== undefined) describe('on a real server', () => onRealServer(redisUrl))
