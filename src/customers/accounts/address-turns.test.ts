import { expect, test } from 'vitest'
import { makeAddressTurns } from './address-turns.ts'

/** Runs one piece at a time, each until `finish` is called. */
const startTurns = (waiting: number) => {
  const started: string[] = []
  const refused: string[] = []
  let finish: (() => void) | undefined
  const run = makeAddressTurns({ atOnce: 1, waiting, refusal: () => new Error('refused') })
  const ask = (name: string, address: string | null): void => {
    run(address, async () => {
      started.push(name)
      await new Promise<void>((resolve) => {
        finish = resolve
      })
    }).catch(() => refused.push(name))
  }
  const finishAll = async (): Promise<void> => {
    for (let known = -1; known !== started.length; ) {
      known = started.length
      finish?.()
      await new Promise(setImmediate)
    }
  }
  return { ask, finishAll, started, refused }
}

test('R-56 addresses take turns, whoever came first', async () => {
  const { ask, finishAll, started } = startTurns(100)
  for (const n of [1, 2, 3, 4]) ask(`a${n}`, '192.0.2.1')
  for (const n of [1, 2]) ask(`b${n}`, '192.0.2.2')
  ask('c1', null)
  await finishAll()
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
})

test('R-56 an address that fills the queue gives way to others, and is refused itself', async () => {
  const { ask, finishAll, started, refused } = startTurns(3)
  for (const n of [1, 2, 3, 4, 5]) ask(`a${n}`, '192.0.2.1')
  ask('b1', '192.0.2.2')
  ask('c1', '192.0.2.3')
  await finishAll()
  // Equal shares: nobody has more than the newcomer would have.
  expect([started, refused]).toEqual([
    ['a1', 'a2', 'b1', 'c1'],
    ['a5', 'a4', 'a3'],
  ])
})

test('R-56 the networks of a /48 share its turns, and take turns themselves', async () => {
  const { ask, finishAll, started, refused } = startTurns(4)
  ask('first', '192.0.2.1')
  for (const n of [1, 2, 3]) ask(`a${n}`, '2001:db8:1:1::1')
  ask('a4', '2001:db8:1:1::4')
  ask('b1', '2001:db8:1:2::1')
  ask('c1', '2001:db8:2:1::1')
  await finishAll()
  expect([started, refused]).toEqual([
    ['first', 'a1', 'c1', 'b1', 'a2'],
    ['a4', 'a3'],
  ])
})

test('R-56 a failing piece of work ends its turn', async () => {
  const run = makeAddressTurns({ atOnce: 1, waiting: 1, refusal: () => new Error('refused') })
  const fault = run('192.0.2.1', () => Promise.reject(new Error('fault')))
  const next = run('192.0.2.1', async () => 'next')
  await expect(fault).rejects.toThrow('fault')
  expect(await next).toBe('next')
})
