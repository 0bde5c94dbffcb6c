import { expect, test } from 'vitest'
import { throughOutage, writtenThroughOutage } from './outage.ts'

const away = () => Object.assign(new Error('away'), { code: 'ECONNREFUSED' })

/** Fails in turn with each of the faults, then succeeds; and which tries knew that they were not the first. */
const failing = (...faults: Error[]) => {
  const again: boolean[] = []
  const work = async (isAgain: boolean): Promise<string> => {
    again.push(isAgain)
    const fault = faults.shift()
    if (fault) throw fault
    return 'done'
  }
  return { again, work }
}

test('what succeeds is tried once', async () => {
  const { again, work } = failing()
  expect(await throughOutage(work)).toBe('done')
  expect(again).toEqual([false])
})

test('a lost connection is waited out, and later tries know that the first may have taken effect', async () => {
  const { again, work } = failing(away(), away())
  expect(await throughOutage(work)).toBe('done')
  expect(again).toEqual([false, true, true])
})

test('any other fault is told at once, whether it comes first or after an outage', async () => {
  const wrong = new Error('wrong')
  const first = failing(wrong)
  await expect(throughOutage(first.work)).rejects.toBe(wrong)
  expect(first.again).toEqual([false])
  const later = failing(away(), wrong)
  await expect(throughOutage(later.work)).rejects.toBe(wrong)
  expect(later.again).toEqual([false, true])
})

test('a row that is there already was written before the outage; without one it is somebody else’s', async () => {
  const there = Object.assign(new Error('there'), { code: '23505' })
  const write = (work: (again: boolean) => Promise<string>) => async () => {
    await work(false)
  }
  const cut = failing(away(), there)
  await writtenThroughOutage(write(cut.work))
  expect(cut.again).toHaveLength(2)
  const taken = failing(there)
  await expect(writtenThroughOutage(write(taken.work))).rejects.toBe(there)
  expect(taken.again).toHaveLength(1)
})
