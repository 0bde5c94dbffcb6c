/** Which groups of the directory give which role, and the roles that follow from it. */
import { statement } from '../../../platform/db/statement.ts'

export type DirectoryRole = 'developer' | 'member' | 'viewer'
type GroupRoleRow = { display_key: string; display_name: string; role: DirectoryRole }

export const findMapping = statement<{ orgId: string }, { default_role: DirectoryRole }>(
  'scim.find_mapping',
  'select default_role from scim_mappings where org_id = :orgId',
)

export const listGroupRoles = statement<{ orgId: string }, GroupRoleRow>(
  'scim.list_group_roles',
  'select display_key, display_name, role from scim_group_roles where org_id = :orgId order by position',
)

export const putMapping = statement<{ orgId: string; defaultRole: string; at: Date }>(
  'scim.put_mapping',
  `insert into scim_mappings (org_id, default_role, updated_at) values (:orgId, :defaultRole, :at)
   on conflict (org_id) do update set default_role = excluded.default_role, updated_at = excluded.updated_at`,
)

export const deleteGroupRoles = statement<{ orgId: string }>(
  'scim.delete_group_roles',
  'delete from scim_group_roles where org_id = :orgId',
)

export const insertGroupRoles = statement<{ orgId: string; keys: string[]; names: string[]; roles: string[] }>(
  'scim.insert_group_roles',
  `insert into scim_group_roles (org_id, display_key, display_name, role, position)
   select :orgId, given.key, given.name, given.role, given.position
   from unnest(:keys::text[], :names::text[], :roles::text[]) with ordinality as given (key, name, role, position)`,
)

type Mapping = { orgId: string; keys: string[]; roles: string[]; defaultRole: string }

/** The highest role of the groups that a user is in, or else the default role. */
const roleOf = (userId: string): string =>
  `coalesce((
     select mapped.role
     from scim_users s
     join scim_group_members gm on gm.org_id = s.org_id and gm.member_id = s.id
     join scim_groups g on g.org_id = gm.org_id and g.id = gm.group_id
     join unnest(:keys::text[], :roles::text[]) as mapped (key, role) on mapped.key = g.display_key
     where s.org_id = :orgId and s.user_id = ${userId}
     order by array_position(array['developer', 'member', 'viewer'], mapped.role)
     limit 1
   ), :defaultRole)`

export const findMappedRole = statement<Mapping & { userId: string }, { role: string }>(
  'scim.find_mapped_role',
  `select ${roleOf(':userId')} as role`,
)

/** Members who came another way, and owners, keep their role. Null user ids mean all members. */
export const applyMappedRoles = statement<
  Mapping & { userIds: string[] | null },
  { id: string; user_id: string; former: string; role: string }
>(
  'scim.apply_mapped_roles',
  `update memberships m set role = wanted.role
   from (
     select f.id, f.role as former, ${roleOf('f.user_id')} as role
     from memberships f
     where f.org_id = :orgId and f.source = 'scim' and f.role <> 'owner'
       and (:userIds::text[] is null or f.user_id = any (:userIds))
   ) wanted
   where m.org_id = :orgId and m.id = wanted.id and m.role = wanted.former and m.role <> wanted.role
   returning m.id, m.user_id, wanted.former, m.role`,
)
