import { expect, test, vi } from 'vitest'
import type { Runner } from '../db/pool.ts'
import type { PrimaryPosition, ReplicaPosition } from './store.ts'
import { watchReplica } from './watch-replica.ts'

const primaryAt = (position: number): PrimaryPosition => ({
  position,
  timeline: 1,
  cluster: 'c',
  database: 'd',
  others: 0,
})
const replicaAt = (position: number | null): ReplicaPosition => ({
  recovering: true,
  position,
  timeline: 1,
  cluster: 'c',
  database: 'd',
  feedback: true,
})

const watchOf = (options: { group?: string | null } = {}) => {
  const servers: { primary: PrimaryPosition | Error; replica: ReplicaPosition | Error } = {
    primary: primaryAt(100),
    replica: replicaAt(100),
  }
  const time = { now: 0 }
  const log = { info: vi.fn(), warn: vi.fn() }
  const answering = (of: 'primary' | 'replica') =>
    ({
      row: async () => {
        const answer = servers[of]
        if (answer instanceof Error) throw answer
        return answer
      },
    }) as unknown as Pick<Runner, 'row'>
  const watch = watchReplica({
    primary: answering('primary'),
    replica: answering('replica'),
    log,
    maxLagMs: 10_000,
    group: options.group === undefined ? null : options.group,
    now: () => time.now,
    everyMs: 2,
  })
  const sampleAt = async (at: number): Promise<void> => {
    time.now = at
    await watch.sample()
  }
  const warnings = () => log.warn.mock.calls.map(([fields]) => fields)
  return { watch, servers, time, log, sampleAt, warnings }
}

test('A write is on the replica once the replica has passed a position of the primary that was read after it', async () => {
  const { watch, servers, sampleAt, log } = watchOf()
  expect([watch.isUsable(), watch.hasReplayed(-1)]).toEqual([false, false])
  await sampleAt(1_000)
  expect([watch.isUsable(), watch.hasReplayed(999), watch.hasReplayed(1_000)]).toEqual([true, true, false])
  servers.primary = primaryAt(200)
  await sampleAt(2_000)
  expect([watch.isUsable(), watch.hasReplayed(999), watch.hasReplayed(1_500)]).toEqual([true, true, false])
  expect(watch.lagSeconds()).toBe(1)
  servers.replica = replicaAt(200)
  await sampleAt(2_100)
  expect([watch.hasReplayed(2_099), watch.lagSeconds()]).toEqual([true, 0])
  expect(log.info.mock.calls).toEqual([['requests read from the replica']])
  expect(log.warn).not.toHaveBeenCalled()
})

test('A replica that is too far behind is not used, and each change is logged once', async () => {
  const { watch, servers, sampleAt, log, warnings } = watchOf()
  await sampleAt(1_000)
  servers.primary = primaryAt(200)
  for (const at of [5_000, 11_000, 11_001, 11_500, 12_000]) await sampleAt(at)
  expect([watch.isUsable(), watch.hasReplayed(500), watch.lagSeconds()]).toEqual([false, false, 11])
  expect(warnings()).toEqual([{ reason: 'it is too far behind' }])
  servers.replica = replicaAt(200)
  await sampleAt(12_100)
  expect([watch.isUsable(), watch.hasReplayed(12_099), watch.lagSeconds()]).toEqual([true, true, 0])
  expect(log.info).toHaveBeenCalledTimes(2)
})

test('A replica that cannot be reached is not used, and what it had replayed before no longer counts', async () => {
  const { watch, servers, sampleAt, warnings } = watchOf()
  await sampleAt(1_000)
  const lost = vi.fn()
  const released = vi.fn()
  watch.onLost(lost)
  watch.onLost(released)()
  servers.replica = new Error('connect ECONNREFUSED')
  await sampleAt(2_000)
  servers.replica = new Error('Connection terminated')
  await sampleAt(3_000)
  expect(warnings()).toEqual([{ reason: 'it cannot be reached', cause: 'connect ECONNREFUSED' }])
  expect([lost.mock.calls.length, released.mock.calls.length]).toEqual([1, 0])
  expect([watch.isUsable(), watch.hasReplayed(0), watch.lagSeconds()]).toEqual([false, false, 2])
  // It comes back from a copy that is older.
  servers.replica = replicaAt(50)
  await sampleAt(4_000)
  expect([watch.isUsable(), watch.hasReplayed(0)]).toEqual([true, false])
})

test('A statement that finds the replica lost ends its use until the next answer', async () => {
  const { watch, sampleAt } = watchOf()
  await sampleAt(1_000)
  watch.failed(new Error('Connection terminated unexpectedly'))
  expect(watch.isUsable()).toBe(false)
  await sampleAt(1_100)
  expect([watch.isUsable(), watch.hasReplayed(1_099)]).toEqual([true, true])
})

test.each([
  ['it is not a replica of the server in DATABASE_URL', { cluster: 'other' }],
  ['it has another database than DATABASE_URL', { database: 'other' }],
  ['it is not a streaming replica', { recovering: false }],
  ['it is not a streaming replica', { position: null }],
  ['it does not follow the present primary yet', { timeline: 0 }],
])('A server is not used because %s (%j)', async (reason, difference) => {
  const { watch, servers, sampleAt, warnings } = watchOf()
  servers.replica = { ...replicaAt(1_000), ...difference }
  await sampleAt(1_000)
  expect([watch.isUsable(), watch.hasReplayed(0)]).toEqual([false, false])
  expect(warnings()).toEqual([{ reason }])
})

test('After a failover, positions of the former primary no longer count', async () => {
  const { watch, servers, sampleAt } = watchOf()
  servers.primary = primaryAt(900)
  await sampleAt(1_000)
  servers.primary = { ...primaryAt(800), timeline: 2 }
  servers.replica = { ...replicaAt(790), timeline: 2 }
  await sampleAt(2_000)
  servers.replica = { ...replicaAt(900), timeline: 2 }
  expect(watch.hasReplayed(0)).toBe(false)
  await sampleAt(3_000)
  expect(watch.hasReplayed(2_999)).toBe(true)
})

test('Without an answer of the primary the lag grows, until the replica is not used', async () => {
  const { watch, servers, sampleAt, time } = watchOf()
  await sampleAt(1_000)
  servers.primary = new Error('connect ECONNREFUSED')
  await sampleAt(2_000)
  expect([watch.isUsable(), watch.hasReplayed(999)]).toEqual([true, true])
  time.now = 11_001
  expect([watch.isUsable(), watch.hasReplayed(999)]).toEqual([false, false])
})

test('Without Redis, the replica is not used while processes of another group watch it', async () => {
  const alone = watchOf({ group: 'abc' })
  alone.servers.primary = { ...primaryAt(100), others: 1 }
  await alone.sampleAt(1_000)
  expect(alone.watch.isUsable()).toBe(false)
  expect(alone.warnings()).toEqual([
    { reason: 'other processes use this database, and without REDIS_URL their writes are not known here' },
  ])
  alone.servers.primary = primaryAt(100)
  await alone.sampleAt(1_100)
  expect(alone.watch.isUsable()).toBe(true)

  const withRedis = watchOf({ group: null })
  withRedis.servers.primary = { ...primaryAt(100), others: 1 }
  await withRedis.sampleAt(1_000)
  expect(withRedis.watch.isUsable()).toBe(true)
})

test('An export waits for the present, and gives up after its time', async () => {
  const { watch, servers, sampleAt, time } = watchOf()
  await sampleAt(1_000)
  const reached = watch.reaches(5_000)
  await sampleAt(1_001)
  expect(await reached).toBe(true)
  servers.primary = primaryAt(200)
  const late = watch.reaches(5_000)
  await sampleAt(2_000)
  time.now = 6_100
  expect(await late).toBe(false)
  watch.failed(new Error('gone'))
  expect(await watch.reaches(5_000)).toBe(false)
})
