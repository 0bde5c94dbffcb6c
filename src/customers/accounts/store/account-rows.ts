import { statement } from '../../../platform/db/statement.ts'

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
