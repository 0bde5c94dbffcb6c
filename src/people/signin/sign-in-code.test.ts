import { expect, test } from 'vitest'
import { makeCodes, newBackupCode, plainBackupCode } from './sign-in-code.ts'

test('A code that outlives a change of the master key is found under the former key', () => {
  const [former, current] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const stored = makeCodes(former).hash('7KQ2M9XRTB', 'backup usr_1')
  const { hashes } = makeCodes(current, [former])
  expect(hashes('7KQ2M9XRTB', 'backup usr_1').some((hash) => hash.equals(stored))).toBe(true)
  expect(hashes('7KQ2M9XRTB', 'backup usr_2').some((hash) => hash.equals(stored))).toBe(false)
})

test('A code has six digits, and a backup code ten characters that do not look alike', () => {
  const { make } = makeCodes(Buffer.alloc(32))
  for (let i = 0; i < 1_000; i++) {
    expect(make()).toMatch(/^\d{6}$/)
    expect(plainBackupCode(newBackupCode())).toMatch(/^[2-9A-HJ-NP-Z]{10}$/)
  }
})
