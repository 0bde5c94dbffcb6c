/** One effect per Idempotency-Key: claim before the work, answer recorded after it, replay ever after. */
import { makeBatcher } from '../db/batch.ts'
import { lostConnection } from '../db/faults.ts'
import type { Db, Runner } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { Scope } from '../ground/scope.ts'
import { claimKeys, freeKey, recordAnswers, sweepKeys } from './store.ts'

/** How long a request may hold its key. Longer than the longest request, so a live one never loses it. */
export const lockSeconds = 330

export type IdempotencyClaim = { scope: Scope; key: string; id: string }
export type ReplayedAnswer = { status: number; body: string }

export interface Idempotency {
  /** A claim to work under, or the answer recorded earlier. Undefined: no lock store, work without. */
  claim(
    scope: Scope,
    key: string,
    fingerprint: Buffer,
  ): Promise<{ claim: IdempotencyClaim } | { replay: ReplayedAnswer } | undefined>
  /** Inside the transaction of the work where there is one, so that effect and answer stand or fall together. */
  recordWith(runner: Runner, answers: Answered[]): Promise<void>
  record(claim: IdempotencyClaim, status: number, body: string): Promise<void>
  free(claim: IdempotencyClaim): Promise<void>
  /** Removes keys past their window, in chunks; returns how many. */
  sweep(): Promise<number>
}

type Asked = { scope: Scope; key: string; fingerprint: Buffer; id: string }
type Verdict = {
  claimed: boolean
  fingerprint: Buffer
  locked: boolean
  status: number | null
  body: string | null
}
export type Answered = { claim: IdempotencyClaim; status: number; body: string }

type Needs = { db: Db; clock: Clock; log: Log; ttlHours: number; production: boolean }

export const makeIdempotency = ({ db, clock, log, ttlHours, production }: Needs): Idempotency => {
  const expiry = (): Date => new Date(clock.millis() + ttlHours * 3_600_000)
  const nameOf = ({ scope, key }: { scope: Scope; key: string }): string =>
    `${scope.orgId} ${scope.tenantId ?? ''} ${scope.environment} ${key}`

  const claims = makeBatcher<Asked, Verdict>({
    name: 'idempotency.claim',
    run: async (asked) => {
      const now = clock.now()
      const rows = await db.rows(claimKeys, {
        orgIds: asked.map((a) => a.scope.orgId),
        tenantIds: asked.map((a) => a.scope.tenantId),
        environments: asked.map((a) => a.scope.environment),
        keys: asked.map((a) => a.key),
        fingerprints: asked.map((a) => a.fingerprint),
        claims: asked.map((a) => a.id),
        now,
        lockedUntil: new Date(now.getTime() + lockSeconds * 1000),
        expiresAt: expiry(),
      })
      return rows.sort((a, b) => a.ordinal - b.ordinal)
    },
    // Two claims of one key in one statement would spoil it; one after the other the second sees the first.
    caller: nameOf,
    onePerCaller: true,
  })

  const write = (runner: Runner, answers: Answered[]): Promise<number> =>
    runner.change(recordAnswers, {
      orgIds: answers.map((a) => a.claim.scope.orgId),
      tenantIds: answers.map((a) => a.claim.scope.tenantId),
      environments: answers.map((a) => a.claim.scope.environment),
      keys: answers.map((a) => a.claim.key),
      claims: answers.map((a) => a.claim.id),
      statuses: answers.map((a) => a.status),
      bodies: answers.map((a) => a.body),
      expiresAt: expiry(),
    })

  const records = makeBatcher<Answered, void>({
    name: 'idempotency.record',
    run: async (answers) => {
      await write(db, answers)
      return answers.map(() => undefined)
    },
  })

  return {
    claim: async (scope, key, fingerprint) => {
      const asked = { scope, key, fingerprint, id: newId('request') }
      let verdict: Verdict
      try {
        verdict = await claims.submit(asked)
      } catch (error) {
        if (!lostConnection(error)) throw error
        // Sending twice is worse than asking the caller to come back.
        if (production) throw new Failure('IDEMPOTENCY_IN_FLIGHT', { cause: error, retryAfter: 5 })
        log.warn({ err: error }, 'no lock store: the request runs without its idempotency lock')
        return undefined
      }
      if (verdict.claimed) return { claim: { scope, key, id: asked.id } }
      if (!verdict.fingerprint.equals(fingerprint)) throw new Failure('IDEMPOTENCY_MISMATCH')
      if (verdict.locked || verdict.status === null) {
        throw new Failure('IDEMPOTENCY_IN_FLIGHT', { retryAfter: 1 })
      }
      return { replay: { status: verdict.status, body: verdict.body ?? '' } }
    },
    recordWith: async (runner, answers) => {
      if (answers.length > 0) await write(runner, answers)
    },
    record: (claim, status, body) => records.submit({ claim, status, body }),
    free: async ({ scope, key, id }) => {
      await db.change(freeKey, {
        orgId: scope.orgId,
        tenantId: scope.tenantId,
        environment: scope.environment,
        key,
        claim: id,
      })
    },
    sweep: async () => {
      const chunk = 1_000
      for (let total = 0; ; ) {
        const gone = await db.change(sweepKeys, { now: clock.now(), limit: chunk })
        total += gone
        if (gone < chunk) return total
      }
    },
  }
}
