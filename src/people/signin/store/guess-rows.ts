/** Guessed passwords per account, and the links that unlock sign-in. Kept in the database, so that a restart forgets none. */
import { deleteExpired, type Sweep } from '../../../customers/accounts/store/session-rows.ts'
import { statement, unseen } from '../../../platform/db/statement.ts'

/** Counts a guess. Returns no row if the subject has used up its guesses since `since`. */
export const countGuess = statement<{ subject: string; at: Date; since: Date; limit: number }, { subject: string }>(
  'signin.count_guess',
  `insert into password_guesses as g (subject, guessed_at, updated_at)
   values (:subject, array[:at::timestamptz], :at)
   on conflict (subject) do update set updated_at = excluded.updated_at,
     guessed_at = array(select t from unnest(g.guessed_at) as t where t > :since) || excluded.guessed_at
   where (select count(*) from unnest(g.guessed_at) as t where t > :since) < :limit
   returning subject`,
)

/** Forgets one guess: the password was right, or could not be compared. */
export const takeBackGuess = statement<{ subject: string; at: Date }>(
  'signin.take_back_guess',
  `update password_guesses set guessed_at = guessed_at[1 : array_position(guessed_at, :at::timestamptz) - 1]
     || guessed_at[array_position(guessed_at, :at::timestamptz) + 1 :]
   where subject = :subject and :at::timestamptz = any(guessed_at)`,
)

export const findOldestGuess = statement<{ subject: string; since: Date }, { oldest: Date | null }>(
  'signin.find_oldest_guess',
  `select (select min(t) from unnest(guessed_at) as t where t > :since) as oldest
   from password_guesses where subject = :subject`,
)

/** Returns no row if a link was mailed after `since` and has not been used. */
export const claimUnlockMail = statement<{ subject: string; at: Date; since: Date }, { subject: string }>(
  'signin.claim_unlock_mail',
  `insert into password_guesses as g (subject, guessed_at, updated_at, mailed_at)
   values (:subject, '{}', :at, :at)
   on conflict (subject) do update set mailed_at = excluded.mailed_at
   where g.mailed_at is null or g.mailed_at <= :since
   returning subject`,
)

/** The next link may be mailed at once. */
export const releaseUnlockMail = statement<{ subject: string }>(
  'signin.release_unlock_mail',
  'update password_guesses set mailed_at = null where subject = :subject',
)

export const insertUnlock = statement<{ tokenHash: Buffer; userId: string; at: Date; expiresAt: Date }>(
  'signin.insert_unlock',
  `insert into account_unlocks (token_hash, user_id, created_at, expires_at)
   values (:tokenHash, :userId, :at, :expiresAt)`,
)

/** Returns no row when the link is unknown, expired or used. */
export const useUnlock = statement<{ tokenHash: Buffer; now: Date }, { user_id: string }>(
  'signin.use_unlock',
  'delete from account_unlocks where token_hash = :tokenHash and expires_at > :now returning user_id',
)

export const sweepGuesses = statement<{ before: Date; limit: number }>(
  'signin.sweep_guesses',
  `delete from password_guesses
   where subject in (select subject from password_guesses where updated_at < :before limit :limit)`,
)

export const sweepUnlocks = statement<Sweep>('signin.sweep_unlocks', deleteExpired('account_unlocks', 'token_hash'))

/** Guesses are counted for failed requests too. */
unseen(countGuess, takeBackGuess, claimUnlockMail, releaseUnlockMail)
