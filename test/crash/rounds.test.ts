import { expect, test } from 'vitest'
import { crashRounds } from './rounds.ts'

test('S-152 SD-47 A service killed while it sends loses no acknowledged message and repeats only messages that it had claimed', async () => {
  const { faults, refused, acknowledged } = await crashRounds(2, () => undefined)
  expect([faults, refused]).toEqual([[], {}])
  const { failed, ...promised } = acknowledged
  expect(failed).toBe(0)
  for (const [how, count] of Object.entries(promised)) expect(count, how).toBeGreaterThan(0)
}, 180_000)
