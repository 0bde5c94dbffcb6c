/** Login challenges: what was proven so far on the way to a session. */
import { deleteExpired, type Sweep } from '../../../customers/accounts/store/session-rows.ts'
import type { Given } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'

export type ChallengeStep = 'code' | '2fa'

export const insertChallenge = statement<
  Given<ChallengeRow, 'id' | 'user_id' | 'method' | 'code_hash' | 'redirect_to' | 'expires_at'> & {
    sessionId: string | null
    step: ChallengeStep
    at: Date
  }
>(
  'signin.insert_challenge',
  `insert into login_challenges (id, user_id, session_id, method, step, code_hash, redirect_to, created_at, expires_at)
   values (:id, :userId, :sessionId, :method, :step, :codeHash, :redirectTo, :at, :expiresAt)`,
)

export type ChallengeRow = {
  id: string
  user_id: string
  email: string
  method: string
  code_hash: Buffer | null
  redirect_to: string
  expires_at: Date
  tries: number
}

const challengeColumns = 'c.id, c.user_id, u.email, c.method, c.code_hash, c.redirect_to, c.expires_at, c.tries'

/** A challenge of another session, or of sign-in where one of a session is meant, is not found. */
export const findChallenge = statement<
  { id: string; sessionId: string | null; step: ChallengeStep; now: Date },
  ChallengeRow
>(
  'signin.find_challenge',
  `select ${challengeColumns}
   from login_challenges c join users u on u.id = c.user_id
   where c.id = :id and c.session_id is not distinct from :sessionId and c.step = :step and c.ended_at is null
     and c.expires_at > :now`,
)

/** Counts one try. The last one ends the challenge unless it succeeds. */
export const tryChallenge = statement<{ id: string; step: ChallengeStep; now: Date; maxTries: number }, ChallengeRow>(
  'signin.try_challenge',
  `update login_challenges c set tries = c.tries + 1
   from users u
   where u.id = c.user_id and c.id = :id and c.step = :step and c.ended_at is null and c.expires_at > :now
     and c.tries < :maxTries
   returning ${challengeColumns}`,
)

/** Returns no row when another request ended the challenge first, or its code was replaced. */
export const endChallenge = statement<
  { id: string; step: ChallengeStep; codeHash: Buffer | null; at: Date },
  { id: string }
>(
  'signin.end_challenge',
  `update login_challenges set ended_at = :at
   where id = :id and step = :step and ended_at is null and code_hash is not distinct from :codeHash
   returning id`,
)

/** The code was right, and the second factor is next. The same rule as for the end of a challenge applies. */
export const askSecondFactor = statement<{ id: string; codeHash: Buffer; expiresAt: Date }, { id: string }>(
  'signin.ask_second_factor',
  `update login_challenges set step = '2fa', code_hash = null, tries = 0, expires_at = :expiresAt
   where id = :id and step = 'code' and ended_at is null and code_hash = :codeHash
   returning id`,
)

/** A new code does not give new tries. */
export const replaceChallengeCode = statement<
  { id: string; codeHash: Buffer; now: Date; expiresAt: Date; maxTries: number },
  { id: string }
>(
  'signin.replace_challenge_code',
  `update login_challenges set code_hash = :codeHash, expires_at = :expiresAt
   where id = :id and step = 'code' and ended_at is null and expires_at > :now and tries < :maxTries
   returning id`,
)

export const dropChallenges = statement<{ userId: string }>(
  'signin.drop_challenges',
  'delete from login_challenges where user_id = :userId',
)

export const sweepChallenges = statement<Sweep>('signin.sweep_challenges', deleteExpired('login_challenges', 'id'))
