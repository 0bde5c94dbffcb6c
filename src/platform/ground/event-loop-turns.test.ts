import { expect, test } from 'vitest'
import { runAtOnce, runInSlices, type Steps, startSlices } from './event-loop-turns.ts'

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

test('steps have the same result at once and in slices, and slices let others run between them', async () => {
  function* steps(): Steps<number> {
    let ran = 0
    for (; ran < 5; ran++) {
      yield
      const end = performance.now() + 6
      while (performance.now() < end);
    }
    return ran
  }
  let turns = 0
  const counting = setInterval(() => turns++, 0)
  expect([runAtOnce(steps()), turns]).toEqual([5, 0])
  expect(await runInSlices(steps())).toBe(5)
  clearInterval(counting)
  expect(turns).toBeGreaterThan(2)
})
