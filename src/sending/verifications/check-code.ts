/** Checks codes. Each check is one conditional statement, and checks that arrive together share it. */
import { makeBatcher } from '../../platform/db/batch.ts'
import { listsOf } from '../../platform/db/lists.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { isId } from '../../platform/ground/ids.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import type { OneTimeCodes } from './one-time-code.ts'
import { keptMs } from './retention.ts'
import type { CheckedVerification, Denial } from './shapes.ts'
import { checkCodes, type Guess } from './store.ts'

type Verdict = 'approved' | Denial

const shown = (id: string, verdict: Verdict): CheckedVerification =>
  verdict === 'approved' ? { id, status: 'approved' } : { id, status: 'denied', reason: verdict }

export const makeCheckCode = ({ db, clock, hashes }: { db: Db; clock: Clock; hashes: OneTimeCodes }) => {
  const judge = async (guesses: Guess[]): Promise<Map<Guess, Verdict>> => {
    const at = clock.now()
    const rows = await db.rows(checkCodes, {
      ...listsOf(guesses, ['orgId', 'tenantId', 'projectId', 'environment', 'id', 'hash', 'previousHashes']),
      createdAfter: new Date(at.getTime() - keptMs),
      at,
    })
    const verdicts = new Map<Guess, Verdict>()
    const changed: Guess[] = []
    for (const { n, verdict } of rows) {
      const guess = guesses[n - 1] as Guess
      if (verdict === 'changed') changed.push(guess)
      else verdicts.set(guess, verdict)
    }
    // A verification that has ended does not change again, so the next statement sees how it ended.
    return changed.length === 0 ? verdicts : new Map([...verdicts, ...(await judge(changed))])
  }

  const checks = makeBatcher<Guess, Verdict>({
    name: 'verifications.check',
    // A statement judges one guess at a verification. The next guess is judged after its outcome is recorded.
    caller: ({ orgId, id }) => `${orgId} ${id}`,
    onePerCaller: true,
    run: async (guesses) => {
      const verdicts = await judge(guesses)
      return guesses.map((guess) => verdicts.get(guess) ?? 'not_found')
    },
  })

  /** An id that does not exist, or that the caller cannot see, is denied as `not_found`. */
  return async (scope: Scope, id: string, code: string): Promise<CheckedVerification> => {
    if (!isId('verification', id)) return shown(id, 'not_found')
    const [hash, ...previous] = hashes.all(id, code) as [string, ...string[]]
    return shown(id, await checks.submit({ ...scope, id, hash, previousHashes: `{${previous.join(',')}}` }))
  }
}

export type CheckCodeOf = ReturnType<typeof makeCheckCode>
