import { expect, test } from 'vitest'
import { makeFairQueue } from './fair-queue.ts'

/** A queue whose tasks end on command, with the order in which they started. The first letter of a name is its lane. */
const queueWith = (limits = {}) => {
  const queue = makeFairQueue({ concurrency: 2, waitingPerLane: 3, waiting: 5, ...limits })
  const started: string[] = []
  const endings = new Map<string, (error?: Error) => void>()
  const run = (name: string, gone?: AbortSignal) =>
    queue.run(
      name.slice(0, 1),
      () => {
        started.push(name)
        return new Promise<string>((resolve, reject) => {
          endings.set(name, (error) => (error ? reject(error) : resolve(name)))
        })
      },
      gone,
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
