/** Codes that verify an address or a number, login challenges and reset links. Each try is counted before it is judged. */
import { deleteExpired, type Sweep } from '../../../customers/accounts/store/session-rows.ts'
import { statement } from '../../../platform/db/statement.ts'

type CodeChannel = 'email' | 'phone'

/** A new code voids the former one. Without a browser, the browser of the former code is kept. */
export const putCode = statement<{
  userId: string
  channel: CodeChannel
  destination: string
  codeHash: Buffer
  browserHash: Buffer | null
  at: Date
  expiresAt: Date
}>(
  'signin.put_code',
  `insert into account_codes (user_id, channel, destination, code_hash, browser_hash, created_at, expires_at)
   values (:userId, :channel, :destination, :codeHash, :browserHash, :at, :expiresAt)
   on conflict (user_id, channel) do update set
     destination = excluded.destination, code_hash = excluded.code_hash, tries = 0,
     browser_hash = coalesce(excluded.browser_hash, account_codes.browser_hash),
     created_at = excluded.created_at, expires_at = excluded.expires_at`,
)

type TriedCode = { user_id: string; code_hash: Buffer; browser_hash: Buffer | null }

/** Counts one try. Returns no row when the code is expired or its tries are used up. */
export const tryCode = statement<
  { userId: string; channel: CodeChannel; destination: string; now: Date; maxTries: number },
  TriedCode
>(
  'signin.try_code',
  `update account_codes set tries = tries + 1
   where user_id = :userId and channel = :channel and destination = :destination
     and expires_at > :now and tries < :maxTries
   returning user_id, code_hash, browser_hash`,
)

/** Returns no row when another request used the code first. */
export const useCode = statement<{ userId: string; channel: CodeChannel; codeHash: Buffer }, { user_id: string }>(
  'signin.use_code',
  `delete from account_codes
   where user_id = :userId and channel = :channel and code_hash = :codeHash
   returning user_id`,
)

export const dropCodes = statement<{ userId: string }>(
  'signin.drop_codes',
  'delete from account_codes where user_id = :userId',
)

/** The user who last asked for a code to this number and has not used it. */
export const findPhoneCode = statement<{ phone: string }, { user_id: string }>(
  'signin.find_phone_code',
  `select user_id from account_codes
   where channel = 'phone' and destination = :phone
   order by created_at desc
   limit 1`,
)

export const insertReset = statement<{ tokenHash: Buffer; userId: string; at: Date; expiresAt: Date }>(
  'signin.insert_reset',
  `insert into password_resets (token_hash, user_id, created_at, expires_at)
   values (:tokenHash, :userId, :at, :expiresAt)`,
)

/** Returns no row when the link is unknown, expired or used. */
export const useReset = statement<{ tokenHash: Buffer; now: Date }, { user_id: string }>(
  'signin.use_reset',
  'delete from password_resets where token_hash = :tokenHash and expires_at > :now returning user_id',
)

export const findReset = statement<{ tokenHash: Buffer; now: Date }, { user_id: string; email: string }>(
  'signin.find_reset',
  `select u.id as user_id, u.email from password_resets r join users u on u.id = r.user_id
   where r.token_hash = :tokenHash and r.expires_at > :now`,
)

export const dropResets = statement<{ userId: string }>(
  'signin.drop_resets',
  'delete from password_resets where user_id = :userId',
)

export const sweepCodes = statement<Sweep>('signin.sweep_codes', deleteExpired('account_codes', 'user_id, channel'))

export const sweepResets = statement<Sweep>('signin.sweep_resets', deleteExpired('password_resets', 'token_hash'))

/** Deletes the link, so that it works once. Returns no row when it is unknown, used or too old. */
export const useFirstLink = statement<{ tokenHash: string; now: Date }, { user_id: string }>(
  'signin.use_first_link',
  `delete from settings
   where name = 'first_sign_in' and value->>'token_hash' = :tokenHash and (value->>'expires_at')::timestamptz > :now
   returning value->>'user_id' as user_id`,
)
