/** Groups of the directory and their members. */
import { columns, type Given, number, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'

const groupColumns = columns({
  id: text,
  display_name: text,
  external_id: text.orNull,
  version: number,
  created_at: time,
  updated_at: time,
})

export type DirectoryGroupRow = RowOf<typeof groupColumns>

export type GroupFilter = {
  orgId: string
  id: string | null
  displayKey: string | null
  externalId: string | null
  memberId: string | null
}

const matches = `g.org_id = :orgId
     and (:id::text is null or g.id = :id)
     and (:displayKey::text is null or g.display_key = :displayKey)
     and (:externalId::text is null or g.external_id = :externalId)
     and (:memberId::text is null or exists (
       select from scim_group_members gm where gm.org_id = g.org_id and gm.group_id = g.id and gm.member_id = :memberId
     ))`

export const listDirectoryGroups = statement<GroupFilter & { offset: number; limit: number }, DirectoryGroupRow>(
  'scim.list_groups',
  `select ${groupColumns.of('g')} from scim_groups g where ${matches} order by g.created_at, g.id offset :offset limit :limit`,
)

export const countDirectoryGroups = statement<GroupFilter, { n: number }>(
  'scim.count_groups',
  `select count(*) as n from scim_groups g where ${matches}`,
)

export const findDirectoryGroup = statement<{ orgId: string; id: string }, DirectoryGroupRow>(
  'scim.find_group',
  `select ${groupColumns.of('g')} from scim_groups g where g.org_id = :orgId and g.id = :id`,
)

export const countGroupMembers = statement<{ orgId: string; ids: string[] }, { group_id: string; n: number }>(
  'scim.count_group_members',
  `select group_id, count(*) as n from scim_group_members where org_id = :orgId and group_id = any (:ids)
   group by group_id`,
)

export type GroupMemberRow = { group_id: string; member_id: string; user_id: string; user_name: string }

export const listGroupMembers = statement<{ orgId: string; ids: string[] }, GroupMemberRow>(
  'scim.list_group_members',
  `select gm.group_id, gm.member_id, s.user_id, s.user_name
   from scim_group_members gm join scim_users s on s.org_id = gm.org_id and s.id = gm.member_id
   where gm.org_id = :orgId and gm.group_id = any (:ids)
   order by gm.group_id, gm.member_id`,
)

type NamedGroup = Given<DirectoryGroupRow, 'id' | 'display_name' | 'external_id'> & {
  orgId: string
  displayKey: string
  at: Date
}

/** Returns no row if another group has the name. */
export const insertDirectoryGroup = statement<NamedGroup, { id: string }>(
  'scim.insert_group',
  `insert into scim_groups (org_id, id, display_name, display_key, external_id, created_at, updated_at)
   values (:orgId, :id, :displayName, :displayKey, :externalId, :at, :at)
   on conflict (org_id, display_key) do nothing
   returning id`,
)

/** Returns no row if another group has the name. */
export const changeDirectoryGroup = statement<NamedGroup, { id: string }>(
  'scim.change_group',
  `update scim_groups g set display_name = :displayName, display_key = :displayKey, external_id = :externalId,
     version = g.version + 1, updated_at = :at
   where g.org_id = :orgId and g.id = :id
     and not exists (
       select from scim_groups o where o.org_id = :orgId and o.display_key = :displayKey and o.id <> :id
     )
   returning g.id`,
)

export const deleteDirectoryGroup = statement<{ orgId: string; id: string }>(
  'scim.delete_group',
  'delete from scim_groups where org_id = :orgId and id = :id',
)

export const addGroupMembers = statement<{ orgId: string; groupId: string; memberIds: string[] }>(
  'scim.add_group_members',
  `insert into scim_group_members (org_id, group_id, member_id)
   select :orgId, :groupId, member_id from unnest(:memberIds::text[]) as given (member_id)
   on conflict (org_id, group_id, member_id) do nothing`,
)

export const removeGroupMembers = statement<{ orgId: string; groupId: string; memberIds: string[] }>(
  'scim.remove_group_members',
  'delete from scim_group_members where org_id = :orgId and group_id = :groupId and member_id = any (:memberIds)',
)

/** The groups of a person who is about to be deleted. */
export const raiseGroupsOf = statement<{ orgId: string; memberId: string; at: Date }>(
  'scim.raise_groups_of',
  `update scim_groups g set version = g.version + 1, updated_at = :at
   from scim_group_members gm
   where g.org_id = :orgId and gm.org_id = :orgId and gm.member_id = :memberId and gm.group_id = g.id`,
)
