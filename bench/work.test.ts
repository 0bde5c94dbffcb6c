import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Sample } from './results.ts'
import { takeTurn as take } from './servers/work.ts'

const takeTurn = async (...of: Parameters<typeof take>) => (await take(...of)) as Sample

test('A turn counts the units that ended in the measured time, with each client doing one unit after the other', async () => {
  const units = [0, 0]
  const sample = await takeTurn(
    {
      one: async (client) => {
        units[client]!++
        await pause(10)
      },
    },
    { clients: 2, warmMs: 100, measureMs: 200 },
  )
  for (const n of units) expect(n).toBeGreaterThan(5)
  const done = (sample.perSecond * 200) / 1000
  expect(Math.round(done)).toBeLessThan(units[0]! + units[1]!)
  expect(sample.p50Ms).toBeGreaterThanOrEqual(9)
  expect(sample.p99Ms).toBeGreaterThanOrEqual(sample.p50Ms)
})

test('The time of deferred work is included', async () => {
  let units = 0
  const one = async () => {
    units++
    await pause(5)
  }
  const { perSecond } = await takeTurn({ one, settle: () => pause(600) }, { clients: 4, warmMs: 0, measureMs: 200 })
  // Timers may end a millisecond early.
  expect(perSecond).toBeLessThanOrEqual(units / 0.79)
})

test('A failed unit fails the turn, and a turn without a finished unit is skipped', async () => {
  const turn = { clients: 1, warmMs: 0, measureMs: 50 }
  await expect(takeTurn({ one: () => Promise.reject(new Error('broke')) }, turn)).rejects.toThrow('broke')
  expect(await take({ one: () => pause(100) }, turn)).toEqual({
    skipped: 'no unit finished within the measured 50 ms',
  })
})
