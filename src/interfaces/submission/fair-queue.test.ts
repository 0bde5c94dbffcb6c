import { expect, test } from 'vitest'
import { makeFairQueue } from './fair-queue.ts'

/** A queue whose tasks end on command, with the order in which they started. The first letter of a name is its lane. */
const queueWith = (limits = {}) => {
  const queue = makeFairQueue({
    concurrency: 2,
    waitingPerLane: 3,
    waiting: 5,
    tasksPerTurn: 1,
    weightPerTurn: 10,
    ...limits,
  })
  const started: string[] = []
  const endings = new Map<string, (error?: Error) => void>()
  const run = (name: string, gone?: AbortSignal, weight = 1) =>
    queue.run(
      name.slice(0, 1),
      () => {
        started.push(name)
        return new Promise<string>((resolve, reject) => {
          endings.set(name, (error) => (error ? reject(error) : resolve(name)))
        })
      },
      { gone, weight },
    )
  const end = async (name: string, error?: Error): Promise<void> => {
    endings.get(name)?.(error)
    await new Promise(setImmediate)
  }
  return { queue, started, run, end }
}

test('a lane runs one task at a time, while other lanes run theirs', async () => {
  const { started, run, end } = queueWith()
  const all = ['a1', 'a2', 'b1', 'b2'].map((name) => run(name))
  expect(started).toEqual(['a1', 'b1'])
  await end('b1')
  expect(started.slice(2)).toEqual(['b2'])
  await end('b2')
  expect(started.slice(3)).toEqual([])
  await end('a1')
  await end('a2')
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'b1', 'b2'])
})

test('lanes take turns', async () => {
  const { started, run, end } = queueWith({ concurrency: 1 })
  const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => run(name))
  for (const name of ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']) await end(name)
  await Promise.all(all)
  expect(started).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

test('light tasks of a lane share a turn, and the next lane follows when all of them have ended', async () => {
  const { started, run, end } = queueWith({ concurrency: 1, waitingPerLane: 9, waiting: 9, tasksPerTurn: 3 })
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1'].map((name) => run(name))
  expect(started).toEqual(['a1'])
  await end('a1')
  expect(started.splice(0)).toEqual(['a1', 'b1'])
  await end('b1')
  expect(started.splice(0)).toEqual(['a2', 'a3', 'a4'])
  all.push(run('b2'))
  await end('a4')
  await end('a2')
  expect(started).toEqual([])
  await end('a3')
  expect(started.splice(0)).toEqual(['b2'])
  await end('b2')
  await end('a5')
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2'])
})

test('a turn ends before the task that makes it too heavy, and a heavy task has a turn of its own', async () => {
  const { started, run, end } = queueWith({ concurrency: 1, waitingPerLane: 9, waiting: 9, tasksPerTurn: 9 })
  const weights = { a1: 1, a2: 6, a3: 4, a4: 1, a5: 11, a6: 1 }
  const all = Object.entries(weights).map(([name, weight]) => run(name, undefined, weight))
  await end('a1')
  expect(started.splice(0)).toEqual(['a1', 'a2', 'a3'])
  await end('a2')
  await end('a3')
  expect(started.splice(0)).toEqual(['a4'])
  await end('a4')
  expect(started.splice(0)).toEqual(['a5'])
  await end('a5')
  await end('a6')
  await Promise.all(all)
})

test('a failed task frees its lane', async () => {
  const { started, run, end } = queueWith()
  const failed = run('a1')
  const next = run('a2')
  await Promise.all([expect(failed).rejects.toThrow('broken'), end('a1', new Error('broken'))])
  expect(started).toEqual(['a1', 'a2'])
  await end('a2')
  expect(await next).toBe('a2')
})

test('a full lane, and a full queue, reject new tasks with RATE_LIMITED', async () => {
  const { run } = queueWith({ concurrency: 1 })
  const waiting = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map((name) => run(name))
  expect(waiting).toHaveLength(6)
  await expect(run('a5')).rejects.toMatchObject({ code: 'RATE_LIMITED', message: /of this organisation/ })
  await expect(run('c1')).rejects.toMatchObject({ code: 'RATE_LIMITED', message: /^Too many messages are waiting/ })
})

test('aborting a waiting task drops it and frees its place in the queue', async () => {
  const { queue, started, run, end } = queueWith({ concurrency: 1, waiting: 1 })
  const first = run('a1')
  const leaving = new AbortController()
  const dropped = run('b1', leaving.signal)
  await expect(run('c1')).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  leaving.abort(new Error('gone'))
  await expect(dropped).rejects.toThrow('gone')
  await expect(run('b2', leaving.signal)).rejects.toThrow('gone')
  const last = run('c2')
  await end('a1')
  await end('c2')
  expect([await first, await last]).toEqual(['a1', 'c2'])
  expect(started).toEqual(['a1', 'c2'])
  await queue.idle()
})
