/** Compares checks with a model of a verification, under random interleavings of checks, expiry and deletion. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { verifier, wrong } from '../../../test/clients/verifier.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const own = await verifier(t)

const day = 86_400
const keptSeconds = 2 * day

/** The states of a verification, by the rules of the API. */
class Model {
  readonly startedAt: number
  readonly ttl: number
  readonly cap: number
  readonly environment: 'live' | 'test'
  attempts = 0
  used = false

  constructor(startedAt: number, ttl: number, cap: number, environment: 'live' | 'test') {
    this.startedAt = startedAt
    this.ttl = ttl
    this.cap = cap
    this.environment = environment
  }

  check(right: boolean, key: 'live' | 'test', now: number): string {
    if (key === 'test' && this.environment === 'live') return 'not_found'
    if (this.used || now >= this.startedAt + keptSeconds) return 'not_found'
    if (now >= this.startedAt + this.ttl) return 'expired'
    if (this.attempts >= this.cap) return 'max_attempts'
    if (!right) {
      this.attempts++
      return 'invalid'
    }
    this.used = true
    return 'approved'
  }
}

type Step =
  | { do: 'start'; ttl: number; cap: number; environment: 'live' | 'test' }
  | { do: 'check'; of: number; right: boolean; key: 'live' | 'test' }
  | { do: 'guess at once'; of: number; wrong: number; right: number }
  | { do: 'wait'; seconds: number }
  | { do: 'retain' }

const environment = fc.constantFrom('live' as const, 'test' as const)
const check = fc.record({
  do: fc.constant('check' as const),
  of: fc.nat(9),
  right: fc.boolean(),
  key: environment,
})
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('start' as const),
      ttl: fc.integer({ min: 60, max: 3_600 }),
      cap: fc.integer({ min: 1, max: 4 }),
      environment,
    }),
  },
  { weight: 10, arbitrary: check },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('guess at once' as const),
      of: fc.nat(9),
      wrong: fc.nat(6),
      right: fc.nat(2),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      seconds: fc.oneof(fc.integer({ min: 1, max: 1_800 }), fc.constant(day)),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'retain' as const }) },
)

type Known = { id: string; code: string; model: Model }

/** Milliseconds pass while the test runs, so its own seconds stand for the clock: no boundary is closer than that. */
let seconds = 0
const verdictOf = ({ body }: { body: { status: string; reason?: string } }) => body.reason ?? body.status

const start = async ({ ttl, cap, environment: kind }: Extract<Step, { do: 'start' }>): Promise<Known> => {
  const id = await own.started(
    { channel: 'email', to: own.newAddress(), from: 'login@example.test', ttl_seconds: ttl, max_attempts: cap },
    { key: own[kind] },
  )
  const code = kind === 'test' ? '123456' : await own.code(id)
  return { id, code, model: new Model(seconds, ttl, cap, kind) }
}

/** Whichever order the guesses are judged in: the cap holds, one right guess at most is approved, and none is lost. */
const guessAtOnce = async ({ id, code, model }: Known, wrongs: number, rights: number): Promise<void> => {
  const before = { attempts: model.attempts, open: model.check(false, 'live', seconds) === 'invalid' }
  model.attempts = before.attempts
  const guesses = [...Array<boolean>(wrongs).fill(false), ...Array<boolean>(rights).fill(true)]
  const verdicts = await Promise.all(
    guesses.map(async (right) => ({ right, verdict: verdictOf(await own.check(id, right ? code : wrong(code))) })),
  )
  const counted = (verdict: string) => verdicts.filter((one) => one.verdict === verdict).length
  if (!before.open) {
    for (const { right, verdict } of verdicts) expect(verdict).toBe(model.check(right, 'live', seconds))
    return
  }
  expect(counted('invalid')).toBeLessThanOrEqual(Math.min(wrongs, model.cap - before.attempts))
  expect(counted('approved')).toBeLessThanOrEqual(Math.min(1, rights))
  expect(verdicts.filter(({ right, verdict }) => right && verdict === 'invalid')).toEqual([])
  expect(verdicts.filter(({ right, verdict }) => !right && verdict === 'approved')).toEqual([])
  model.attempts += counted('invalid')
  model.used = counted('approved') === 1
  if (rights > 0 && wrongs < model.cap - before.attempts) expect(model.used).toBe(true)
  if (!model.used) expect(counted('invalid')).toBe(Math.min(wrongs, model.cap - before.attempts))
}

test('S-046 S-067 S-070 SD-18 verdicts follow the model under random interleavings of checks, expiry and deletion', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const known: Known[] = []
      for (const one of steps) {
        if (one.do === 'start') known.push(await start(one))
        else if (one.do === 'wait') {
          await own.advance(one.seconds)
          seconds += one.seconds
        } else if (one.do === 'retain') await t.ask('POST', '/api/dev/run', { body: { task: 'retention' } })
        else if (known.length > 0) {
          const target = known[one.of % known.length] as Known
          if (one.do === 'guess at once') await guessAtOnce(target, one.wrong, one.right)
          else {
            const guess = one.right ? target.code : wrong(target.code)
            const verdict = verdictOf(await own.check(target.id, guess, { key: own[one.key] }))
            expect(verdict).toBe(target.model.check(one.right, one.key, seconds))
          }
        }
      }
      for (const { id, model } of known) {
        const row = await own.stored(id)
        if (row)
          expect({ attempts: row.attempts, used: row.used_at !== null }).toEqual({
            attempts: model.attempts,
            used: model.used,
          })
        else expect(seconds).toBeGreaterThanOrEqual(model.startedAt + keptSeconds)
      }
      // The ceiling of the org is another test's subject.
      await t.database.sql('delete from verification_windows')
    }),
    { numRuns: 25 },
  )
}, 60_000)
