/** The people of an org as its directory sees them: all members, and those whose membership ended by the directory. */
import { columns, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'

const userColumns = columns({
  id: text,
  user_id: text,
  email: text,
  account_name: text,
  /** Null while the person is not active. */
  membership_id: text.orNull,
  role: text.orNull,
  user_name: text,
  external_id: text.orNull,
  given_name: text.orNull,
  family_name: text.orNull,
  display_name: text.orNull,
  created_at: time,
  updated_at: time,
})

export type DirectoryUserRow = RowOf<typeof userColumns>

/** People of whom the directory has said something, and then the other members. */
const people = `(
     select s.id, s.user_id, u.email, u.name as account_name, m.id as membership_id, m.role, s.user_name, s.user_key,
       s.external_id, s.given_name, s.family_name, s.display_name, s.created_at, s.updated_at
     from scim_users s
     join users u on u.id = s.user_id
     left join memberships m on m.org_id = s.org_id and m.user_id = s.user_id
     where s.org_id = :orgId
     union all
     select m.id, m.user_id, u.email, u.name, m.id, m.role, u.email, u.email, null, null, null, null, m.created_at,
       m.created_at
     from memberships m
     join users u on u.id = m.user_id
     where m.org_id = :orgId
       and not exists (select from scim_users s where s.org_id = m.org_id and s.user_id = m.user_id)
   ) d`

export type UserFilter = {
  orgId: string
  id: string | null
  userKey: string | null
  externalId: string | null
  displayName: string | null
  email: string | null
  active: boolean | null
}

const matches = `(:id::text is null or d.id = :id)
     and (:userKey::text is null or d.user_key = :userKey)
     and (:externalId::text is null or d.external_id = :externalId)
     and (:displayName::text is null or lower(coalesce(d.display_name, d.account_name)) = lower(:displayName))
     and (:email::text is null or d.email = :email)
     and (:active::boolean is null or (d.membership_id is not null) = :active)`

export const listDirectoryUsers = statement<UserFilter & { offset: number; limit: number }, DirectoryUserRow>(
  'scim.list_users',
  `select ${userColumns.of('d')} from ${people} where ${matches} order by d.created_at, d.id offset :offset limit :limit`,
)

export const countDirectoryUsers = statement<UserFilter, { n: number }>(
  'scim.count_users',
  `select count(*) as n from ${people} where ${matches}`,
)

export const findDirectoryUser = statement<{ orgId: string; id: string }, DirectoryUserRow>(
  'scim.find_user',
  `select ${userColumns.of('d')} from ${people} where d.id = :id`,
)

/** A person who has this name, or this account, in the directory of the org. */
export const findTakenUser = statement<{ orgId: string; userKey: string; userId: string | null }, { id: string }>(
  'scim.find_taken_user',
  `select d.id from ${people} where d.user_key = :userKey or d.user_id = :userId limit 1`,
)

export const findUsersById = statement<{ orgId: string; ids: string[] }, { id: string; user_id: string }>(
  'scim.find_users_by_id',
  `select d.id, d.user_id from ${people} where d.id = any (:ids)`,
)

/** What the directory says of a person. */
export type NamedUser = Omit<DirectoryUserRow, 'email' | 'account_name' | 'membership_id' | 'role' | 'updated_at'>

/** Leaves a row that already says the same as it is. */
export const putDirectoryUser = statement<NamedUser & { orgId: string; user_key: string; at: Date }>(
  'scim.put_user',
  `insert into scim_users (org_id, id, user_id, user_name, user_key, external_id, given_name, family_name, display_name,
     created_at, updated_at)
   values (:orgId, :id, :user_id, :user_name, :user_key, :external_id, :given_name, :family_name, :display_name,
     :created_at, :at)
   on conflict (org_id, id) do update set user_name = excluded.user_name, user_key = excluded.user_key,
     external_id = excluded.external_id, given_name = excluded.given_name, family_name = excluded.family_name,
     display_name = excluded.display_name, updated_at = excluded.updated_at
   where (scim_users.user_name, scim_users.external_id, scim_users.given_name, scim_users.family_name,
       scim_users.display_name)
     is distinct from (excluded.user_name, excluded.external_id, excluded.given_name, excluded.family_name,
       excluded.display_name)`,
)

/** When a person becomes active or inactive. */
export const touchDirectoryUser = statement<{ orgId: string; id: string; at: Date }>(
  'scim.touch_user',
  'update scim_users set updated_at = :at where org_id = :orgId and id = :id',
)

/** Gives members of whom the directory has said nothing a row, so that groups can refer to them. */
export const registerMembers = statement<{ orgId: string; ids: string[] }>(
  'scim.register_members',
  `insert into scim_users (org_id, id, user_id, user_name, user_key, created_at, updated_at)
   select m.org_id, m.id, m.user_id, u.email, u.email, m.created_at, m.created_at
   from memberships m join users u on u.id = m.user_id
   where m.org_id = :orgId and m.id = any (:ids)
     and not exists (select from scim_users s where s.org_id = m.org_id and s.user_id = m.user_id)`,
)

export const deleteDirectoryUser = statement<{ orgId: string; id: string }>(
  'scim.delete_user',
  'delete from scim_users where org_id = :orgId and id = :id',
)

export const listGroupsOfUsers = statement<
  { orgId: string; ids: string[] },
  { member_id: string; id: string; display_name: string }
>(
  'scim.list_groups_of_users',
  `select gm.member_id, g.id, g.display_name
   from scim_group_members gm join scim_groups g on g.org_id = gm.org_id and g.id = gm.group_id
   where gm.org_id = :orgId and gm.member_id = any (:ids)
   order by g.created_at, g.id`,
)
