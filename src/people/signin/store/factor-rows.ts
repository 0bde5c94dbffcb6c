/** The second factor of an account, its backup codes, and its accounts at sign-in providers. */
import { statement } from '../../../platform/db/statement.ts'

export const setPendingSecret = statement<{ userId: string; sealed: string; at: Date }, { id: string }>(
  'signin.set_pending_secret',
  `update users set totp_pending_secret = :sealed, updated_at = :at
   where id = :userId and totp_enabled_at is null
   returning id`,
)

/** Returns no row if the second factor is already enabled, or another secret is pending. */
export const enableTotp = statement<{ userId: string; sealed: string; step: number; at: Date }, { id: string }>(
  'signin.enable_totp',
  `update users set totp_secret = totp_pending_secret, totp_pending_secret = null, totp_enabled_at = :at,
     totp_last_step = :step, updated_at = :at
   where id = :userId and totp_enabled_at is null and totp_pending_secret = :sealed
   returning id`,
)

export const disableTotp = statement<{ userId: string; at: Date }, { id: string }>(
  'signin.disable_totp',
  `update users set totp_secret = null, totp_pending_secret = null, totp_enabled_at = null, totp_last_step = null,
     updated_at = :at
   where id = :userId and totp_enabled_at is not null
   returning id`,
)

/** Returns no row when a code of this time step or a newer one was used before. */
export const useTotpStep = statement<{ userId: string; step: number }, { id: string }>(
  'signin.use_totp_step',
  `update users set totp_last_step = :step
   where id = :userId and totp_enabled_at is not null and coalesce(totp_last_step, 0) < :step
   returning id`,
)

export const insertBackupCodes = statement<{ userId: string; hashes: Buffer[]; at: Date }>(
  'signin.insert_backup_codes',
  `insert into backup_codes (user_id, code_hash, created_at)
   select :userId, hash, :at from unnest(:hashes::bytea[]) as given (hash)`,
)

export const dropBackupCodes = statement<{ userId: string }>(
  'signin.drop_backup_codes',
  'delete from backup_codes where user_id = :userId',
)

/** The hashes are of one code under several keys. */
export const useBackupCode = statement<{ userId: string; hashes: Buffer[]; at: Date }, { user_id: string }>(
  'signin.use_backup_code',
  `update backup_codes set used_at = :at
   where user_id = :userId and code_hash = any (:hashes::bytea[]) and used_at is null
   returning user_id`,
)

export const countBackupCodes = statement<{ userId: string }, { left: number }>(
  'signin.count_backup_codes',
  'select count(*)::int as left from backup_codes where user_id = :userId and used_at is null',
)

export const findIdentity = statement<{ issuer: string; subject: string }, { user_id: string }>(
  'signin.find_identity',
  'select user_id from sign_in_identities where issuer = :issuer and subject = :subject',
)

export const insertIdentity = statement<{ issuer: string; subject: string; userId: string; at: Date }>(
  'signin.insert_identity',
  `insert into sign_in_identities (issuer, subject, user_id, created_at)
   values (:issuer, :subject, :userId, :at)
   on conflict (issuer, subject) do nothing`,
)
