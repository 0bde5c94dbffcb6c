/** Checks codes. Each check is one conditional statement, and checks that arrive together share it. */
import { makeBatcher } from '../../platform/db/batch.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { isId } from '../../platform/ground/ids.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import type { OneTimeCodes } from './one-time-code.ts'
import { keptMs } from './retention.ts'
import type { CheckedVerification, Denial } from './shapes.ts'
import { checkCodes } from './store.ts'

/** An id that does not exist, or that the caller cannot see, is denied as `not_found`. */
export type CheckCodeOf = (scope: Scope, id: string, code: string) => Promise<CheckedVerification>

type Verdict = 'approved' | Denial
type Guess = { scope: Scope; id: string; hash: string; previousHashes: string }

type Needs = { db: Db; clock: Clock; hashes: OneTimeCodes }

const shown = (id: string, verdict: Verdict): CheckedVerification =>
  verdict === 'approved' ? { id, status: 'approved' } : { id, status: 'denied', reason: verdict }

export const makeCheckCode = ({ db, clock, hashes }: Needs): CheckCodeOf => {
  const judge = async (guesses: Guess[]): Promise<Map<Guess, Verdict>> => {
    const at = clock.now()
    const rows = await db.rows(checkCodes, {
      orgIds: guesses.map(({ scope }) => scope.orgId),
      tenantIds: guesses.map(({ scope }) => scope.tenantId),
      projectIds: guesses.map(({ scope }) => scope.projectId),
      environments: guesses.map(({ scope }) => scope.environment),
      ids: guesses.map(({ id }) => id),
      hashes: guesses.map(({ hash }) => hash),
      previousHashes: guesses.map(({ previousHashes }) => previousHashes),
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
    caller: ({ scope, id }) => `${scope.orgId} ${id}`,
    onePerCaller: true,
    run: async (guesses) => {
      const verdicts = await judge(guesses)
      return guesses.map((guess) => verdicts.get(guess) ?? 'not_found')
    },
  })

  return async (scope, id, code) => {
    if (!isId('verification', id)) return shown(id, 'not_found')
    const [hash, ...previous] = hashes.all(id, code) as [string, ...string[]]
    return shown(id, await checks.submit({ scope, id, hash, previousHashes: `{${previous.join(',')}}` }))
  }
}
