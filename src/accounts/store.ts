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
  ordinal: number
  session_id: string
  user_id: string
  method: string
  created_at: Date
  expires_at: Date
  last_active_at: Date
  org_id: string | null
  role: string | null
  suspended: boolean | null
}

/**
 * The signed-in users and their active memberships: the one in the active org, or else in the default org, or else the
 * oldest. A session that is older than an org of its user allows is not found.
 */
export const findSessions = statement<{ hashes: Buffer[]; activeOrgs: (string | null)[]; now: Date }, SessionRow>(
  'accounts.find_sessions',
  `select r.ordinal::int as ordinal, s.id as session_id, s.user_id, s.method, s.created_at, s.expires_at,
     s.last_active_at, m.org_id, m.role, o.suspended_at is not null as suspended
   from unnest(:hashes::bytea[], :activeOrgs::text[]) with ordinality as r (hash, active_org, ordinal)
   join sessions s on s.token_hash = r.hash
   join users u on u.id = s.user_id and u.session_version = s.session_version
   left join lateral (
     select org_id, role from memberships
     where user_id = s.user_id
     order by (org_id = r.active_org) desc nulls last, (org_id = u.default_org_id) desc nulls last, created_at, id
     limit 1
   ) m on true
   left join orgs o on o.id = m.org_id
   where s.expires_at > :now
     and not exists (
       select from memberships pm join orgs p on p.id = pm.org_id
       where pm.user_id = s.user_id and s.created_at + p.max_session_age_hours * interval '1 hour' <= :now
     )`,
)

/** Sessions that another process has touched within the last minute stay as they are. */
export const touchSessions = statement<{ ids: string[]; at: Date; before: Date }>(
  'accounts.touch_sessions',
  'update sessions set last_active_at = :at where id = any (:ids::text[]) and last_active_at <= :before',
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
