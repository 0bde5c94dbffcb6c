import { createServer, get } from 'node:http'
import { connect } from 'node:net'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { endLoopbackGuard } from '../../../test/setup/loopback-guard.ts'
import { takeViolations } from '../../../test/setup/network-guard.ts'
import { type Log, silentLog } from '../ground/log.ts'
import { guardNetwork, logOncePerPlace } from './network-guard.ts'
import { type Db, openDb, type Tx } from './pool.ts'
import { type NoParams, statement } from './statement.ts'

const one = statement<NoParams, { one: number }>('test.one', 'select 1 as one')

let database: TestDatabase
let db: Db
let remote: Awaited<ReturnType<typeof startRemote>>

const startRemote = async () => {
  const server = createServer((_, response) => response.end('hello'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

beforeAll(async () => {
  database = await makeTestDatabase('empty')
  remote = await startRemote()
})

beforeEach(() => {
  db = openDb({ url: database.url, log: silentLog(), poolSize: 4 })
  return () => db.close()
})

afterAll(async () => {
  remote.close()
  await database.drop()
})

// All calls go to a server on loopback, and the guard would be the line that they come from.
endLoopbackGuard()

const inTx = (work: (tx: Tx) => Promise<unknown>) => db.tx(work)

const callFetch = async () => (await fetch(remote.url)).text()

const callUndici = async (dispatcher: Agent) => (await request(remote.url, { dispatcher })).body.text()

const callHttp = () =>
  new Promise<void>((resolve, reject) => {
    get(remote.url, (response) => response.resume().on('end', resolve)).on('error', reject)
  })

const callSocket = () =>
  new Promise<void>((resolve) => {
    const socket = connect(remote.port, '127.0.0.1', () => {
      socket.destroy()
      resolve()
    })
  })

describe('inside a transaction', () => {
  test.each([
    ['fetch', 'an HTTP request', callFetch],
    ['undici', 'an HTTP request', () => callUndici(new Agent())],
    ['node:http', 'an HTTP request', callHttp],
    ['a plain socket', 'a connection', callSocket],
  ])('a call through %s is reported with the line it came from', async (_, what, call) => {
    await inTx(async (tx) => {
      await tx.row(one)
      await call()
    })
    const violations = takeViolations()
    expect(violations.map((violation) => violation.what)).toContain(what)
    for (const { place } of violations) expect(place).toContain('network-guard.test.ts')
  })

  test('a request on an open connection is reported', async () => {
    const dispatcher = new Agent({ connections: 1 })
    await callUndici(dispatcher)
    expect(takeViolations()).toEqual([])
    await inTx(() => callUndici(dispatcher))
    expect(takeViolations()).toMatchObject([{ what: 'an HTTP request' }])
    await dispatcher.close()
  })

  test('a call after awaits and timers is reported', async () => {
    await inTx(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      await Promise.all([callFetch()])
    })
    expect(takeViolations()).not.toEqual([])
  })
})

describe('not reported is', () => {
  test('a call before, concurrent with or after a transaction', async () => {
    await callFetch()
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const open = inTx(() => {
      begin()
      return finished
    })
    await begun
    await callFetch()
    finish()
    await open
    await callHttp()
    expect(takeViolations()).toEqual([])
  })

  test('a call by work that outlives its transaction', async () => {
    let started: Promise<unknown> | undefined
    await inTx(async () => {
      started = new Promise((resolve) => setTimeout(resolve, 20)).then(callFetch)
    })
    await started
    expect(takeViolations()).toEqual([])
  })

  test('a connection that the pool opens, also for a transaction that waits for one', async () => {
    await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        if (i % 2 === 0) return db.row(one)
        return inTx(async (tx) => {
          await tx.row(one)
          await new Promise((resolve) => setTimeout(resolve, 2))
        })
      }),
    )
    const client = await db.connect()
    await client.end()
    expect(takeViolations()).toEqual([])
  })

  test('a connection that the pool opens to replace one that was lost during a transaction', async () => {
    const alone = openDb({ url: database.url, log: silentLog(), poolSize: 1 })
    const kill = statement<NoParams, { ended: boolean }>(
      'test.kill',
      'select pg_terminate_backend(pg_backend_pid()) as ended',
    )
    const lost = alone.tx((tx) => tx.row(kill)).catch(() => 'lost')
    expect(await Promise.all([lost, alone.row(one)])).toEqual(['lost', { one: 1 }])
    await alone.close()
    expect(takeViolations()).toEqual([])
  })
})

test('logOncePerPlace logs each place once', async () => {
  const logged: { place: string; text: string }[] = []
  const log = {
    error: ({ place }: { place: string }, text: string) => logged.push({ place, text }),
  } as unknown as Log
  const end = guardNetwork(logOncePerPlace(log))
  for (let i = 0; i < 3; i++) await inTx(callFetch)
  await inTx(callSocket)
  end()
  await inTx(callHttp)
  expect(logged.map(({ text }) => text)).toEqual([
    'an HTTP request inside a database transaction',
    'a connection inside a database transaction',
  ])
  expect(new Set(logged.map(({ place }) => place)).size).toBe(2)
  expect(takeViolations()).not.toEqual([])
})
