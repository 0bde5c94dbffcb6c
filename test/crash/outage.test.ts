import { expect, test } from 'vitest'
import { databaseOutages } from './outage.ts'

test('When the database restarts under load, requests fail cleanly, the service recovers and no acknowledged message is lost', async () => {
  const { faults, refused, recovered, cut_off } = await databaseOutages(2)
  expect(faults).toEqual([])
  expect(recovered).toEqual([expect.any(Number), expect.any(Number)])
  expect(cut_off).toBe(0)
  const clean = new Set(['500 INTERNAL_ERROR', '503 UNAVAILABLE'])
  expect(Object.keys(refused).filter((answer) => !clean.has(answer))).toEqual([])
}, 180_000)
