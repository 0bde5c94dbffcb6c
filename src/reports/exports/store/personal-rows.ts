/** What a person can export about themselves. No statement reads a secret. */
import type { ListedSession } from '../../../customers/accounts/store/session-rows.ts'
import type { ListedEntry } from '../../../journal/audit/store/list-rows.ts'
import { statement } from '../../../platform/db/statement.ts'

export type OwnProfile = {
  id: string
  email: string
  name: string
  phone: string | null
  email_verified_at: Date | null
  created_at: Date
  totp_enabled_at: Date | null
  issuers: string[]
}

export const readOwnProfile = statement<{ userId: string }, OwnProfile>(
  'exports.read_own_profile',
  `select id, email, name, phone, email_verified_at, created_at, totp_enabled_at,
     array(select distinct issuer from sign_in_identities where user_id = :userId order by issuer) as issuers
   from users where id = :userId`,
)

type OwnMembership = { org_id: string; org_name: string; role: string; created_at: Date }

export const listOwnMemberships = statement<{ userId: string }, OwnMembership>(
  'exports.list_own_memberships',
  `select m.org_id, o.name as org_name, m.role, m.created_at
   from memberships m join orgs o on o.id = m.org_id
   where m.user_id = :userId
   order by m.created_at, m.id`,
)

export const listOwnSessions = statement<{ userId: string }, Omit<ListedSession, 'expires_at'>>(
  'exports.list_own_sessions',
  `select id, method, ip_address, user_agent, created_at, last_active_at
   from sessions where user_id = :userId
   order by created_at desc, id desc`,
)

/** Ids sort by time, over all orgs. */
export const authoredEntries = statement<{ userId: string; limit: number }, ListedEntry>(
  'exports.authored_entries',
  `select org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address, user_agent, created_at
   from audit_entries
   where actor_user_id = :userId
   order by id desc
   limit :limit`,
)
