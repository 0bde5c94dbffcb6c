import { statement } from '../db/statement.ts'

export const insertUser = statement<{
  id: string
  email: string
  name: string
  passwordHash: string | null
  verifiedAt: Date | null
  orgId: string
  at: Date
}>(
  'accounts.insert_user',
  `insert into users (id, email, name, password_hash, email_verified_at, default_org_id, created_at, updated_at)
   values (:id, :email, :name, :passwordHash, :verifiedAt, :orgId, :at, :at)`,
)

export const findUserByEmail = statement<{ email: string }, { id: string }>(
  'accounts.find_user_by_email',
  'select id from users where email = lower(:email)',
)

export const insertMembership = statement<{ orgId: string; id: string; userId: string; role: string; at: Date }>(
  'accounts.insert_membership',
  'insert into memberships (org_id, id, user_id, role, created_at) values (:orgId, :id, :userId, :role, :at)',
)

export const insertSession = statement<{
  id: string
  userId: string
  tokenHash: Buffer
  method: string
  ip: string | null
  userAgent: string
  at: Date
  expiresAt: Date
}>(
  'accounts.insert_session',
  `insert into sessions (id, user_id, token_hash, session_version, method, ip_address, user_agent, created_at,
     last_active_at, expires_at)
   select :id, :userId, :tokenHash, session_version, :method, :ip, :userAgent, :at, :at, :expiresAt
   from users where id = :userId`,
)

export type SessionRow = {
  session_id: string
  user_id: string
  org_id: string | null
  role: string | null
  suspended: boolean | null
}

/**
 * The signed-in user and their active membership: the one in `activeOrg`, or else in the default org, or else the
 * oldest.
 */
export const findSession = statement<{ tokenHash: Buffer; activeOrg: string | null; now: Date }, SessionRow>(
  'accounts.find_session',
  `select s.id as session_id, s.user_id, m.org_id, m.role, o.suspended_at is not null as suspended
   from sessions s
   join users u on u.id = s.user_id and u.session_version = s.session_version
   left join lateral (
     select org_id, role from memberships
     where user_id = s.user_id and (:activeOrg::text is null or org_id = :activeOrg)
     order by (org_id = u.default_org_id) desc nulls last, created_at, id
     limit 1
   ) m on true
   left join orgs o on o.id = m.org_id
   where s.token_hash = :tokenHash and s.expires_at > :now`,
)

export const endSession = statement<{ tokenHash: Buffer }>(
  'accounts.end_session',
  'delete from sessions where token_hash = :tokenHash',
)

/** The given addresses that are verified sign-in addresses of org members. */
export const findVerifiedMembers = statement<{ orgId: string; emails: string[] }, { email: string }>(
  'accounts.find_verified_members',
  `select u.email from memberships m join users u on u.id = m.user_id
   where m.org_id = :orgId and u.email = any (:emails::text[]) and u.email_verified_at is not null`,
)

/** The verified addresses of org members with these roles. */
export const findMembersInRoles = statement<{ orgId: string; roles: string[] }, { email: string }>(
  'accounts.find_members_in_roles',
  `select u.email from memberships m join users u on u.id = m.user_id
   where m.org_id = :orgId and m.role = any (:roles::text[]) and u.email_verified_at is not null
   order by u.email`,
)
