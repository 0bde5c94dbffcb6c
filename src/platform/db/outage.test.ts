import { expect, test } from 'vitest'
import { insertWithRetry, retryOnOutage } from './outage.ts'

const connectionRefused = () => Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' })

/** Work that fails with each of the errors in turn, then succeeds. Records the `again` flag of each try. */
const failingWith = (...errors: Error[]) => {
  const again: boolean[] = []
  const work = async (isAgain: boolean): Promise<string> => {
    again.push(isAgain)
    const error = errors.shift()
    if (error) throw error
    return 'done'
  }
  return { again, work }
}

test('work that succeeds runs once', async () => {
  const { again, work } = failingWith()
  expect(await retryOnOutage(work)).toBe('done')
  expect(again).toEqual([false])
})

test('work is retried after a lost connection, with again set', async () => {
  const { again, work } = failingWith(connectionRefused(), connectionRefused())
  expect(await retryOnOutage(work)).toBe('done')
  expect(again).toEqual([false, true, true])
})

test('any other error is thrown at once, both at first and after an outage', async () => {
  const wrong = new Error('wrong')
  const first = failingWith(wrong)
  await expect(retryOnOutage(first.work)).rejects.toBe(wrong)
  expect(first.again).toEqual([false])
  const later = failingWith(connectionRefused(), wrong)
  await expect(retryOnOutage(later.work)).rejects.toBe(wrong)
  expect(later.again).toEqual([false, true])
})

test('an existing row counts as written on a retry and is an error on the first try', async () => {
  const duplicate = Object.assign(new Error('duplicate'), { code: '23505' })
  const write = (work: (again: boolean) => Promise<string>) => async () => {
    await work(false)
  }
  const retried = failingWith(connectionRefused(), duplicate)
  await insertWithRetry(write(retried.work))
  expect(retried.again).toHaveLength(2)
  const firstTry = failingWith(duplicate)
  await expect(insertWithRetry(write(firstTry.work))).rejects.toBe(duplicate)
  expect(firstTry.again).toHaveLength(1)
})

test('work is retried for as long as a failover takes, and then its error is thrown', async () => {
  let waited = 0
  const wait = async (ms: number) => {
    waited += ms
  }
  const { again, work } = failingWith(...Array.from({ length: 100 }, connectionRefused))
  await expect(retryOnOutage(work, wait)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  expect(waited).toBeGreaterThanOrEqual(30_000)
  // Well below the five minutes after which another worker takes over a claimed message.
  expect(waited).toBeLessThan(60_000)
  expect(again.filter((isAgain) => !isAgain)).toHaveLength(1)
})

test('work is retried after a server turned out to be read-only', async () => {
  const { again, work } = failingWith(Object.assign(new Error('read-only transaction'), { code: '25006' }))
  expect(await retryOnOutage(work, async () => undefined)).toBe('done')
  expect(again).toEqual([false, true])
})
