import { expect, test } from 'vitest'
import { makeFairQueue } from './fair-queue.ts'

/** Work that ends when told to, and the order in which it began. */
const bench = (bounds = {}) => {
  const turns = makeFairQueue({ atOnce: 2, waitingPerLane: 3, waiting: 5, ...bounds })
  const began: string[] = []
  const ends = new Map<string, (fault?: Error) => void>()
  const take = (name: string, gone?: AbortSignal) =>
    turns.take(
      name.slice(0, 1),
      () => {
        began.push(name)
        return new Promise<string>((resolve, reject) => {
          ends.set(name, (fault) => (fault ? reject(fault) : resolve(name)))
        })
      },
      gone,
    )
  const end = async (name: string, fault?: Error): Promise<void> => {
    ends.get(name)?.(fault)
    await new Promise(setImmediate)
  }
  return { turns, began, take, end }
}

test('there is one of a lane at a time, while others have theirs', async () => {
  const { began, take, end } = bench()
  const all = ['a1', 'a2', 'b1', 'b2'].map((name) => take(name))
  expect(began).toEqual(['a1', 'b1'])
  await end('b1')
  expect(began.slice(2)).toEqual(['b2'])
  await end('b2')
  expect(began.slice(3)).toEqual([])
  await end('a1')
  await end('a2')
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'b1', 'b2'])
})

test('lanes take turns', async () => {
  const { began, take, end } = bench({ atOnce: 1 })
  const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => take(name))
  for (const name of ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']) await end(name)
  await Promise.all(all)
  expect(began).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

test('work that fails ends its turn as well', async () => {
  const { began, take, end } = bench()
  const failed = take('a1')
  const next = take('a2')
  await Promise.all([expect(failed).rejects.toThrow('broken'), end('a1', new Error('broken'))])
  expect(began).toEqual(['a1', 'a2'])
  await end('a2')
  expect(await next).toBe('a2')
})

test('too much of one, and too much of all, may come again later', async () => {
  const { take } = bench({ atOnce: 1 })
  const waiting = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map((name) => take(name))
  expect(waiting).toHaveLength(6)
  await expect(take('a5')).rejects.toMatchObject({ code: 'RATE_LIMITED', message: /of this organisation/ })
  await expect(take('c1')).rejects.toMatchObject({ code: 'RATE_LIMITED', message: /^Too many messages wait/ })
})

test('who leaves loses the place, and a place is free again', async () => {
  const { turns, began, take, end } = bench({ atOnce: 1, waiting: 1 })
  const first = take('a1')
  const leaving = new AbortController()
  const left = take('b1', leaving.signal)
  await expect(take('c1')).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  leaving.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  await expect(take('b2', leaving.signal)).rejects.toThrow('gone')
  const last = take('c2')
  await end('a1')
  await end('c2')
  expect([await first, await last]).toEqual(['a1', 'c2'])
  expect(began).toEqual(['a1', 'c2'])
  await turns.idle()
})
