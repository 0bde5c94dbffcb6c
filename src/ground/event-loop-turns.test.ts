import { expect, test } from 'vitest'
import { startSlices } from './event-loop-turns.ts'

test('each turn of the event loop runs one slice, in the order in which the work asked for it', async () => {
  let turn = 0
  let counting = true
  const count = (): void => {
    turn++
    if (counting) setImmediate(count)
  }
  setImmediate(count)
  const ran: { name: string; turn: number }[] = []
  const work = async (name: string): Promise<void> => {
    const slices = startSlices()
    for (let slice = 0; slice < 3; slice++) {
      await slices.next()
      ran.push({ name, turn })
    }
  }
  await Promise.all(['a', 'b', 'c', 'd'].map(work))
  counting = false
  expect(ran.map(({ name }) => name).join('')).toBe('abcdabcdabcd')
  expect(new Set(ran.map((slice) => slice.turn)).size).toBe(12)
})

test('a slice is over after some milliseconds, and the next one starts anew', async () => {
  const slices = startSlices()
  expect(slices.over()).toBe(false)
  await expect.poll(() => slices.over()).toBe(true)
  await slices.next()
  expect(slices.over()).toBe(false)
})
