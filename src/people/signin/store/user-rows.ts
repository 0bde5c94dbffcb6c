/** Accounts as sign-in sees them. They belong to people, so no statement here has an org. */
import { bytes, columns, type Given, number, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'

const accountColumns = columns({
  id: text,
  email: text,
  name: text,
  password_hash: text.orNull,
  email_verified_at: time.orNull,
  phone: text.orNull,
  phone_verified_at: time.orNull,
  totp_secret: text.orNull,
  totp_pending_secret: text.orNull,
  totp_enabled_at: time.orNull,
  default_org_id: text.orNull,
  pending_org_name: text.orNull,
  pending_invite_hash: bytes.orNull,
  session_version: number,
  created_at: time,
})

export type AccountRow = RowOf<typeof accountColumns>

export const findAccountByEmail = statement<{ email: string }, AccountRow>(
  'signin.find_account_by_email',
  `select ${accountColumns} from users where email = :email`,
)

export const findAccount = statement<{ userId: string }, AccountRow>(
  'signin.find_account',
  `select ${accountColumns} from users where id = :userId`,
)

/** The same, locked against concurrent changes until the transaction ends. */
export const lockAccount = statement<{ userId: string }, AccountRow>(
  'signin.lock_account',
  `select ${accountColumns} from users where id = :userId for no key update`,
)

/** Returns no row if the address is taken. */
export const insertAccount = statement<
  Given<AccountRow, 'id' | 'email' | 'name' | 'password_hash' | 'pending_org_name' | 'pending_invite_hash'> & {
    verifiedAt: Date | null
    at: Date
  },
  { id: string }
>(
  'signin.insert_account',
  `insert into users (id, email, name, password_hash, email_verified_at, pending_org_name, pending_invite_hash,
     created_at, updated_at)
   values (:id, :email, :name, :passwordHash, :verifiedAt, :pendingOrgName, :pendingInviteHash, :at, :at)
   on conflict (email) do nothing
   returning id`,
)

/** Registering again replaces what an unverified account was registered with. */
export const replaceRegistration = statement<
  { userId: string; name: string; passwordHash: string; pendingInviteHash: Buffer | null; at: Date },
  { id: string }
>(
  'signin.replace_registration',
  `update users set name = :name, password_hash = :passwordHash, pending_invite_hash = :pendingInviteHash,
     updated_at = :at
   where id = :userId and email_verified_at is null
   returning id`,
)

export const setDefaultOrg = statement<{ userId: string; orgId: string; at: Date }>(
  'signin.set_default_org',
  'update users set default_org_id = :orgId, pending_org_name = null, updated_at = :at where id = :userId',
)

/** Returns no row if the address was verified before. */
export const markEmailVerified = statement<{ userId: string; at: Date }, { id: string }>(
  'signin.mark_email_verified',
  `update users set email_verified_at = :at, pending_invite_hash = null, updated_at = :at
   where id = :userId and email_verified_at is null
   returning id`,
)

export const markPhoneVerified = statement<{ userId: string; phone: string; at: Date }>(
  'signin.mark_phone_verified',
  'update users set phone = :phone, phone_verified_at = :at, updated_at = :at where id = :userId',
)

export const setPassword = statement<{ userId: string; passwordHash: string | null; at: Date }>(
  'signin.set_password',
  'update users set password_hash = :passwordHash, updated_at = :at where id = :userId',
)

/** A null name keeps the name, and a null org the default org. */
export const changeProfile = statement<
  { userId: string; name: string | null; defaultOrgId: string | null; at: Date },
  { id: string }
>(
  'signin.change_profile',
  `update users set
     name = coalesce(:name::text, name),
     default_org_id = coalesce(:defaultOrgId::text, default_org_id),
     updated_at = :at
   where id = :userId
     and (:defaultOrgId::text is null
       or exists (select from memberships where org_id = :defaultOrgId and user_id = :userId))
   returning id`,
)

type MembershipRow = {
  id: string
  name: string
  slug: string
  role: string
  suspended: boolean
  suspension_reason: string | null
  is_default: boolean
  created_at: Date
}

/** The orgs of a user, the default one first, then in the order in which they joined. */
export const listMemberships = statement<{ userId: string }, MembershipRow>(
  'signin.list_memberships',
  `select o.id, o.name, o.slug, m.role, o.suspended_at is not null as suspended, o.suspension_reason,
     coalesce(o.id = u.default_org_id, false) as is_default, m.created_at
   from memberships m
   join orgs o on o.id = m.org_id
   join users u on u.id = m.user_id
   where m.user_id = :userId
   order by coalesce(o.id = u.default_org_id, false) desc, m.created_at, m.id
   limit 1000`,
)

/** The org under which sign-ins of a user are recorded: the default org, or else the oldest membership. */
export const findFilingOrg = statement<{ userId: string }, { org_id: string }>(
  'signin.find_filing_org',
  `select m.org_id
   from memberships m join users u on u.id = m.user_id
   where m.user_id = :userId
   order by coalesce(m.org_id = u.default_org_id, false) desc, m.created_at, m.id
   limit 1`,
)
