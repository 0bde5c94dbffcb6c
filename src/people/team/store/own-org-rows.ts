/** Orgs as one of their members sees them, and their deletion. */
import type { Plan } from '../../../customers/orgs/plans.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type Keyset, newestPageOf } from '../../../platform/ground/cursor.ts'
import type { LockedOrg } from './team-rows.ts'

export type OwnOrgRow = {
  id: string
  name: string
  slug: string
  plan: Plan
  owner_user_id: string | null
  role: string
  is_default: boolean
  sms_quiet_hours: boolean
  suspended: boolean
  created_at: Date
}

const columns = `o.id, o.name, o.slug, o.plan, o.owner_user_id, m.role, u.default_org_id is not distinct from o.id as is_default,
     o.sms_quiet_hours, o.suspended_at is not null as suspended, o.created_at`

const tables = 'memberships m join orgs o on o.id = m.org_id join users u on u.id = m.user_id'

export const listOwnOrgs = statement<{ userId: string } & Keyset, OwnOrgRow>(
  'team.list_own_orgs',
  `select ${columns} from ${tables}
   where m.user_id = :userId ${newestPageOf('o')}`,
)

export const findOwnOrg = statement<{ orgId: string; userId: string }, OwnOrgRow>(
  'team.find_own_org',
  `select ${columns} from ${tables} where m.org_id = :orgId and m.user_id = :userId`,
)

/** Also the slug of a deleted org, which is taken until the org is purged. */
export const findSlugHolder = statement<{ slug: string }, { id: string }>(
  'team.find_slug_holder',
  'select id from orgs where slug = :slug',
)

export const findOrgSettings = statement<{ orgId: string }, { name: string; sms_quiet_hours: boolean }>(
  'team.find_org_settings',
  'select name, sms_quiet_hours from orgs where id = :orgId',
)

export const setOrgSettings = statement<{ orgId: string; name: string; smsQuietHours: boolean; at: Date }>(
  'team.set_org_settings',
  `update orgs set name = :name, sms_quiet_hours = :smsQuietHours, updated_at = :at where id = :orgId`,
)

/** Frees the slug. The owner pointer is cleared, so that the account of the owner can be deleted. */
export const markOrgDeleted = statement<{ orgId: string; at: Date }, { id: string }>(
  'team.mark_org_deleted',
  `update orgs set deleted_at = :at, updated_at = :at, owner_user_id = null, slug = id
   where id = :orgId and deleted_at is null
   returning id`,
)

export const deleteAllMembers = statement<{ orgId: string }>(
  'team.delete_all_members',
  'delete from memberships where org_id = :orgId',
)

export const deleteAllInvitations = statement<{ orgId: string }>(
  'team.delete_all_invitations',
  'delete from invitations where org_id = :orgId',
)

/** The org in which a user has been an owner for longest. */
export const oldestOwnedOrg = statement<{ userId: string }, { org_id: string }>(
  'team.oldest_owned_org',
  `select org_id from memberships where user_id = :userId and role = 'owner' order by created_at, id limit 1`,
)

export const nextOwnOrg = statement<{ userId: string }, { org_id: string }>(
  'team.next_own_org',
  `select m.org_id from memberships m join users u on u.id = m.user_id
   where m.user_id = :userId
   order by m.org_id = u.default_org_id desc nulls last, m.created_at, m.id
   limit 1`,
)

/** Locks all orgs of a user, always in the same order, so that two such calls cannot block each other. */
export const lockOwnOrgs = statement<{ userId: string }, LockedOrg>(
  'team.lock_own_orgs',
  `select id, name, slug, owner_user_id from orgs
   where id in (select org_id from memberships where user_id = :userId)
   order by id
   for no key update`,
)

export const orgsToPurge = statement<{ afterOrgId: string; limit: number }, { id: string; deleted_at: Date }>(
  'team.orgs_to_purge',
  `select id, deleted_at from orgs
   where deleted_at is not null and id > :afterOrgId
   order by id
   limit :limit`,
)

export const deleteOrgRow = statement<{ orgId: string }>(
  'team.delete_org_row',
  'delete from orgs where id = :orgId and deleted_at is not null',
)
