import { expect, test } from 'vitest'
import { makeOrgTurns } from './org-turns.ts'

/** Starts work that ends when the test says so. */
const startWork = (limits: { running: number; waitingPerOrg: number }) => {
  const turns = makeOrgTurns({ what: 'imports', ...limits })
  const started: string[] = []
  const ends: (() => void)[] = []
  const start = (orgId: string) =>
    turns(orgId, () => {
      started.push(orgId)
      return new Promise<void>((resolve) => ends.push(resolve))
    })
  const endOldest = async () => {
    ends.shift()?.()
    await new Promise(setImmediate)
  }
  return { start, started, endOldest }
}

test('R-30 at most two imports run at once, and orgs take turns', async () => {
  const { start, started, endOldest } = startWork({ running: 2, waitingPerOrg: 10 })
  const all = ['a', 'a', 'a', 'a', 'b', 'c'].map(start)
  await new Promise(setImmediate)
  expect(started).toEqual(['a', 'a'])
  for (let i = 0; i < 6; i++) await endOldest()
  await Promise.all(all)
  expect(started).toEqual(['a', 'a', 'a', 'b', 'c', 'a'])
})

test('R-30 an org with too many waiting imports is refused, and others are not', async () => {
  const { start, endOldest } = startWork({ running: 1, waitingPerOrg: 2 })
  const accepted = [start('a'), start('a'), start('a')]
  await expect(start('a')).rejects.toMatchObject({ code: 'RATE_LIMITED', detail: { retryAfter: 5 } })
  accepted.push(start('b'))
  for (let i = 0; i < 4; i++) await endOldest()
  await Promise.all(accepted)
})

test('R-30 a failed import makes place for the next one', async () => {
  const turns = makeOrgTurns({ what: 'imports', running: 1, waitingPerOrg: 5 })
  await expect(turns('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await turns('a', async () => 'done')).toBe('done')
})
