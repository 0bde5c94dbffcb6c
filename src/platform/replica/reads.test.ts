import { describe, expect, test, vi } from 'vitest'
import type { Db } from '../db/pool.ts'
import { isReplicaFault, makeReads, readsFromPrimary } from './reads.ts'
import type { ReplicaWatch } from './watch-replica.ts'

const statement = { name: 'some.read', text: 'select 1', params: [], changes: false }

const errorWith = (code: string): Error => Object.assign(new Error(code), { code })

/** Both servers return their names. */
const serverOf = (name: string) => ({
  row: vi.fn(async () => name),
  rows: vi.fn(async () => [name]),
  change: vi.fn(async () => 1),
  tx: vi.fn(async () => name),
  connect: vi.fn(async () => name),
})

const setUp = () => {
  const primary = serverOf('primary')
  const replica = serverOf('replica')
  const state = { usable: true, replayedUpTo: 900, age: 200 as number | null, keepsSnapshots: true, reaches: true }
  const lost = new Set<() => void>()
  const watch = {
    isUsable: () => state.usable,
    hasReplayed: (moment: number) => state.replayedUpTo > moment,
    reaches: vi.fn(async () => state.reaches),
    keepsSnapshots: () => state.keepsSnapshots,
    failed: vi.fn(),
    onLost: (ended: () => void) => {
      lost.add(ended)
      return () => lost.delete(ended)
    },
  } as unknown as ReplicaWatch
  const age = vi.fn(async () => state.age)
  const wrote = vi.fn()
  const targets: string[] = []
  const countRepeated = vi.fn()
  const reads = makeReads({
    primary: primary as unknown as Db,
    replica: replica as unknown as Db,
    watch,
    marks: { age, wrote, close: async () => undefined },
    countRead: (target) => targets.push(target),
    countRepeated,
    now: () => 1_000,
  })
  const read = () => reads.serve(['org_1'], () => reads.db.row(statement))
  return { primary, replica, state, watch, age, wrote, targets, countRepeated, reads, read, lost }
}

describe('A request that only reads', () => {
  test('reads from the replica when the replica has the last write of the caller', async () => {
    const { read, reads, targets, age, primary, lost } = setUp()
    expect(await read()).toBe('replica')
    expect(await reads.serve(['org_1', 'usr_1'], () => reads.db.rows(statement))).toEqual(['replica'])
    expect(age.mock.calls).toEqual([[['org_1']], [['org_1', 'usr_1']]])
    expect(targets).toEqual(['replica', 'replica'])
    expect([primary.row.mock.calls.length, primary.rows.mock.calls.length, lost.size]).toEqual([0, 0, 0])
  })

  test.each([
    ['the last write was after what is replayed', { age: 100 }],
    ['the last write was at the moment that is replayed', { age: 100, replayedUpTo: 900 }],
    ['the marks of writes cannot be read', { age: null }],
    ['the replica is not usable', { usable: false }],
  ])('reads from the primary when %s', async (_, difference) => {
    const { read, state, targets, replica } = setUp()
    Object.assign(state, difference)
    expect(await read()).toBe('primary')
    expect([targets, replica.row.mock.calls.length]).toEqual([['primary'], 0])
  })

  test('reads from the replica when there was no write', async () => {
    const { read, state } = setUp()
    state.age = Number.POSITIVE_INFINITY
    expect(await read()).toBe('replica')
  })

  test('writes and begins transactions on the primary', async () => {
    const { reads, replica } = setUp()
    expect(await reads.serve(['org_1'], () => reads.db.tx(async () => 'unused'))).toBe('primary')
    expect(await reads.serve(['org_1'], () => reads.db.change(statement))).toBe(1)
    expect(await reads.serve(['org_1'], () => reads.db.connect())).toBe('primary')
    expect([replica.change, replica.tx, replica.connect].map((fn) => fn.mock.calls.length)).toEqual([0, 0, 0])
  })
})

test('Outside of such a request, the same handle reads from the primary', async () => {
  const { reads, replica, targets } = setUp()
  expect([await reads.db.row(statement), await reads.db.rows(statement)]).toEqual(['primary', ['primary']])
  expect([replica.row.mock.calls.length, replica.rows.mock.calls.length, targets]).toEqual([0, 0, []])
})

describe('A statement that fails on the replica', () => {
  test.each(['40001', '57P01', '08006', '25006', 'ECONNRESET'])(
    'with %s is repeated once on the primary',
    async (code) => {
      const { reads, replica, primary, countRepeated, watch } = setUp()
      replica.row.mockRejectedValueOnce(errorWith(code))
      const both = await reads.serve(['org_1'], async () => [
        await reads.db.row(statement),
        await reads.db.row(statement),
      ])
      // The second one follows, so that a request never sees an earlier state after a later one.
      expect(both).toEqual(['primary', 'primary'])
      expect([replica.row, primary.row, countRepeated].map((fn) => fn.mock.calls.length)).toEqual([1, 2, 1])
      expect(watch.failed).toHaveBeenCalledTimes(['40001', '25006'].includes(code) ? 0 : 1)
    },
  )

  test('for its own reason fails the request', async () => {
    const { read, replica, primary, countRepeated } = setUp()
    replica.row.mockRejectedValueOnce(errorWith('22P02'))
    await expect(read()).rejects.toMatchObject({ code: '22P02' })
    expect([primary.row, countRepeated].map((fn) => fn.mock.calls.length)).toEqual([0, 0])
  })

  test('on the primary too fails the request', async () => {
    const { read, replica, primary } = setUp()
    replica.row.mockRejectedValueOnce(errorWith('57P01'))
    primary.row.mockRejectedValueOnce(errorWith('ECONNREFUSED'))
    await expect(read()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('because all connections are busy does not end the use of the replica', async () => {
    const { read, replica, watch } = setUp()
    replica.row.mockRejectedValueOnce(new Error('timeout exceeded when trying to connect'))
    expect(await read()).toBe('primary')
    expect(watch.failed).not.toHaveBeenCalled()
  })

  test('because the replica hangs is repeated when the watch notices', async () => {
    const { read, replica, lost, watch } = setUp()
    replica.row.mockImplementationOnce(() => new Promise(() => undefined))
    const reading = read()
    await expect.poll(() => lost.size).toBe(1)
    for (const ended of lost) ended()
    expect(await reading).toBe('primary')
    expect([lost.size, vi.mocked(watch.failed).mock.calls.length]).toEqual([0, 0])
  })
})

test('A statement that was canceled for its duration is not repeated', () => {
  expect(isReplicaFault(errorWith('57014'))).toBe(false)
  expect(isReplicaFault(new Error('Query read timeout'))).toBe(true)
})

describe('An export', () => {
  test('reads from the replica once the replica has reached the present', async () => {
    const { reads, targets, watch } = setUp()
    expect(await reads.snapshots.connect()).toBe('replica')
    expect([watch.reaches, targets]).toEqual([expect.anything(), ['replica']])
    expect(watch.reaches).toHaveBeenCalledExactlyOnceWith(5_000)
  })

  test.each([
    ['the replica may cancel long statements', { keepsSnapshots: false }],
    ['the replica does not reach the present', { reaches: false }],
    ['the replica is not usable', { usable: false }],
  ])('reads from the primary when %s', async (_, difference) => {
    const { reads, state, targets, replica } = setUp()
    Object.assign(state, difference)
    expect(await reads.snapshots.connect()).toBe('primary')
    expect([targets, replica.connect.mock.calls.length]).toEqual([['primary'], 0])
  })

  test('reads from the primary when the replica accepts no connection', async () => {
    const { reads, replica, targets, watch } = setUp()
    replica.connect.mockRejectedValueOnce(errorWith('ECONNREFUSED'))
    expect(await reads.snapshots.connect()).toBe('primary')
    expect(targets).toEqual(['primary'])
    expect(watch.failed).toHaveBeenCalledTimes(1)
  })
})

test('Without a replica, everything is the primary and nothing is marked', async () => {
  const db = serverOf('primary') as unknown as Db
  const reads = readsFromPrimary(db)
  expect([reads.db, reads.snapshots, reads.wrote]).toEqual([db, db, undefined])
  expect(await reads.serve(['org_1'], async () => 'served')).toBe('served')
})
