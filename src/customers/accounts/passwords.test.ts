import { expect, test } from 'vitest'
import { hashPassword, makePasswords, verifyPassword } from './passwords.ts'

test('A-130 without a stored hash the same work is done against a hash of the same cost', async () => {
  const compared: string[] = []
  const passwords = makePasswords({
    verify: (stored, password) => {
      compared.push(stored)
      return verifyPassword(stored, password)
    },
  })
  const stored = await hashPassword('correct horse battery')
  expect(await passwords.matches(stored, 'correct horse battery', null)).toBe(true)
  expect(await passwords.matches(stored, 'wrong', null)).toBe(false)
  expect(await passwords.matches(null, 'wrong', null)).toBe(false)
  const costOf = (hash: string | undefined) => hash?.split('$').slice(0, 4).join('$')
  expect(compared.map(costOf)).toEqual(Array(3).fill('$argon2id$v=19$m=19456,t=2,p=1'))
  expect(compared[2]).not.toBe(stored)
})

test('Only a few hashes run at once, and calls beyond the queue are refused', async () => {
  let running = 0
  let most = 0
  const finish: (() => void)[] = []
  const passwords = makePasswords({
    atOnce: 2,
    waiting: 3,
    verify: async () => {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => finish.push(resolve))
      running--
      return true
    },
  })
  const calls = Array.from({ length: 6 }, () => passwords.matches('x', 'y', null))
  await expect(calls[5]).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  for (let i = 0; i < 5; i++) {
    await expect.poll(() => finish.length).toBeGreaterThan(i)
    finish[i]?.()
  }
  expect(await Promise.all(calls.slice(0, 5))).toEqual(Array(5).fill(true))
  expect(most).toBe(2)
})
