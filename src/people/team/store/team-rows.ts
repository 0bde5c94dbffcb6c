/** Memberships and the owner pointer of an org. */
import { isHeld, isManaged } from '../../../customers/accounts/store/enforcement-rows.ts'
import type { Given } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type Keyset, newestPageOf } from '../../../platform/ground/cursor.ts'

export type TeamMemberRow = {
  id: string
  user_id: string
  email: string
  name: string
  role: string
  primary_owner: boolean
  source: string
  two_factor_enabled: boolean
  sso_exempt: boolean
  /** What the member needs to open the org: any session, one of its identity provider, or an exemption. */
  sso_access: 'any' | 'provider' | 'none'
  created_at: Date
  last_active_at: Date | null
}

const memberColumns = `m.id, m.user_id, u.email, u.name, m.role, o.owner_user_id is not distinct from m.user_id as primary_owner,
     m.source, m.created_at, u.totp_enabled_at is not null as two_factor_enabled, m.sso_exempt,
     case when not ${isHeld} then 'any' when ${isManaged} then 'provider' else 'none' end as sso_access,
     (select max(s.last_active_at) from sessions s where s.user_id = m.user_id) as last_active_at`

const memberTables = 'memberships m join users u on u.id = m.user_id join orgs o on o.id = m.org_id'

export const listTeam = statement<{ orgId: string } & Keyset, TeamMemberRow>(
  'team.list_members',
  `select ${memberColumns}
   from ${memberTables}
   where m.org_id = :orgId ${newestPageOf('m')}`,
)

export const findMember = statement<{ orgId: string; id: string }, TeamMemberRow>(
  'team.find_member',
  `select ${memberColumns} from ${memberTables} where m.org_id = :orgId and m.id = :id`,
)

export type LockedOrg = { id: string; name: string; slug: string; owner_user_id: string | null }

/**
 * Every change of an org's members locks the org first. Two owners who demote each other, or a transfer and a removal,
 * then run one after the other. Returns no row for an org that is deleted.
 */
export const lockTeam = statement<{ orgId: string }, LockedOrg>(
  'team.lock',
  `select id, name, slug, owner_user_id from orgs where id = :orgId and deleted_at is null for no key update`,
)

export const findRole = statement<{ orgId: string; userId: string }, { id: string; role: string }>(
  'team.find_role',
  'select id, role from memberships where org_id = :orgId and user_id = :userId',
)

export const findMemberByEmail = statement<{ orgId: string; email: string }, { id: string }>(
  'team.find_member_by_email',
  `select m.id from memberships m join users u on u.id = m.user_id where m.org_id = :orgId and u.email = :email`,
)

export const countOwners = statement<{ orgId: string }, { n: number }>(
  'team.count_owners',
  `select count(*) as n from memberships where org_id = :orgId and role = 'owner'`,
)

/** Returns the former role, or no row if the member has the role already. */
export const setRole = statement<{ orgId: string; id: string; role: string }, { former: string }>(
  'team.set_role',
  `update memberships m set role = :role
   from memberships former
   where m.org_id = :orgId and m.id = :id and m.role <> :role
     and former.org_id = m.org_id and former.id = m.id
   returning former.role as former`,
)

/** Returns no row if nothing changes. */
export const setExempt = statement<{ orgId: string; id: string; exempt: boolean }, { id: string }>(
  'team.set_exempt',
  `update memberships set sso_exempt = :exempt
   where org_id = :orgId and id = :id and sso_exempt <> :exempt
   returning id`,
)

export const deleteMember = statement<{ orgId: string; id: string }, { user_id: string; role: string }>(
  'team.delete_member',
  'delete from memberships where org_id = :orgId and id = :id returning user_id, role',
)

export const joinTeam = statement<
  Given<TeamMemberRow, 'id' | 'user_id' | 'role' | 'source' | 'sso_exempt'> & { orgId: string; at: Date }
>(
  'team.join',
  `insert into memberships (org_id, id, user_id, role, source, sso_exempt, created_at)
   values (:orgId, :id, :userId, :role, :source, :ssoExempt, :at)`,
)

export const findInvitee = statement<{ userId: string }, { email: string; verified: boolean }>(
  'team.find_invitee',
  'select email, email_verified_at is not null as verified from users where id = :userId',
)

export const findUserName = statement<{ userId: string }, { name: string; email: string }>(
  'team.find_user_name',
  'select name, email from users where id = :userId',
)

export const hasAccount = statement<{ email: string }, { id: string }>(
  'team.has_account',
  'select id from users where email = :email and email_verified_at is not null',
)

/** Users whose default org is this one get their oldest other membership instead, or none. */
export const leaveDefaultOrg = statement<{ orgId: string; userId: string | null; at: Date }>(
  'team.leave_default_org',
  `update users u set updated_at = :at, default_org_id = (
     select m.org_id from memberships m
     where m.user_id = u.id and m.org_id <> :orgId
     order by m.created_at, m.id
     limit 1
   )
   where u.default_org_id = :orgId and (:userId::text is null or u.id = :userId)`,
)

export const setFirstDefaultOrg = statement<{ orgId: string; userId: string; at: Date }>(
  'team.set_default_org',
  'update users set default_org_id = :orgId, updated_at = :at where id = :userId and default_org_id is null',
)

/** The heir of an org: the longest-standing other owner, or else the longest-standing other member. */
export const findHeir = statement<{ orgId: string; userId: string }, { id: string; user_id: string; role: string }>(
  'team.find_heir',
  `select id, user_id, role from memberships
   where org_id = :orgId and user_id <> :userId
   order by role = 'owner' desc, created_at, id
   limit 1`,
)

/** Sessions, memberships and everything else that belongs to the user alone goes with the row. */
export const deleteUser = statement<{ userId: string }, { email: string }>(
  'team.delete_user',
  'delete from users where id = :userId returning email',
)
