/** The attempt cap under concurrent guesses. */
import { expect, test } from 'vitest'
import { verifier, wrong } from '../../../test/clients/verifier.ts'
import { sharedTestService, startTestService } from '../../../test/service/service.ts'

const t = await sharedTestService()
const own = await verifier(t)

const verdictOf = ({ body }: { body: { status: string; reason?: string } }) => body.reason ?? body.status

const guessAll = async (id: string, guesses: string[]) => {
  const verdicts: Record<string, number> = {}
  await Promise.all(
    guesses.map(async (guess) => {
      const verdict = verdictOf(await own.check(id, guess))
      verdicts[verdict] = (verdicts[verdict] ?? 0) + 1
    }),
  )
  return verdicts
}

test('S-046 of 1,000 concurrent wrong guesses at a cap of 5 exactly 5 are evaluated', async () => {
  const id = await own.started({ max_attempts: 5 })
  const code = await own.code(id)
  const guesses = Array.from({ length: 1_000 }, () => wrong(code))
  expect(await guessAll(id, guesses)).toEqual({ invalid: 5, max_attempts: 995 })
  expect(await own.stored(id)).toMatchObject({ attempts: 5, used_at: null })
  expect((await own.check(id, code)).body.reason).toBe('max_attempts')
}, 120_000)

test('S-046 S-047 when the right code is among the first five guesses of 1,000, one is approved', async () => {
  const id = await own.started({ max_attempts: 5 })
  const code = await own.code(id)
  const first = [wrong(code), wrong(code), code, wrong(code), wrong(code)]
  const verdicts: string[] = []
  for (const guess of first.slice(0, 2)) verdicts.push(verdictOf(await own.check(id, guess)))
  expect(verdicts).toEqual(['invalid', 'invalid'])
  const rest = [...first.slice(2), ...Array.from({ length: 995 }, (_, i) => (i % 2 ? code : wrong(code)))]
  const counts = await guessAll(id, rest)
  expect(counts).toEqual({
    approved: 1,
    not_found: 997 - (counts.invalid ?? 0),
    ...(counts.invalid && { invalid: counts.invalid }),
  })
  expect(counts.invalid ?? 0).toBeLessThan(3)
  expect(await own.stored(id)).toMatchObject({ attempts: 2 + (counts.invalid ?? 0), used_at: expect.any(Date) })
}, 120_000)

test('S-046 the cap holds for guesses in two processes', async () => {
  const other = await startTestService({ database: t.database })
  try {
    const id = await own.started({ max_attempts: 10 })
    const code = await own.code(id)
    const path = `/api/v1/verifications/${id}/check`
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        (i % 2 ? t : other).ask('POST', path, { key: own.live, body: { code: wrong(code) } }),
      ),
    )
    const verdicts = replies.map(verdictOf)
    expect(verdicts.filter((verdict) => verdict === 'invalid')).toHaveLength(10)
    expect(verdicts.filter((verdict) => verdict === 'max_attempts')).toHaveLength(90)
    expect(await own.stored(id)).toMatchObject({ attempts: 10 })
  } finally {
    await other.stop()
  }
})
