/** Users and groups as SCIM shows them (RFC 7643, section 4). */
import type { DirectoryGroup } from '../../../people/scim/directory-groups.ts'
import type { DirectoryUser } from '../../../people/scim/directory-users.ts'
import { etagOf } from '../../../people/scim/page-and-version.ts'

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group'
const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'

export type Shown = Record<string, unknown>

type Described = { id: string; created_at: Date; updated_at: Date }

const metaOf = (resourceType: 'User' | 'Group', row: Described, version: string, base: string) => ({
  resourceType,
  created: row.created_at.toISOString(),
  lastModified: row.updated_at.toISOString(),
  location: `${base}/${resourceType}s/${row.id}`,
  version: etagOf(version),
})

/** The names that the directory gave, or else the first and the other words of the account's name. */
const nameOf = (user: DirectoryUser) => {
  const { given_name, family_name, account_name } = user
  if (given_name !== null || family_name !== null) {
    return {
      ...(given_name !== null && { givenName: given_name }),
      ...(family_name !== null && { familyName: family_name }),
    }
  }
  const [first = '', ...others] = account_name.split(' ')
  return { givenName: first, ...(others.length > 0 && { familyName: others.join(' ') }) }
}

export const shownUser = (user: DirectoryUser, base: string): Shown => ({
  schemas: [userSchema],
  id: user.id,
  ...(user.external_id !== null && { externalId: user.external_id }),
  userName: user.user_name,
  name: nameOf(user),
  displayName: user.display_name ?? user.account_name,
  emails: [{ value: user.email, primary: true }],
  active: user.membership_id !== null,
  groups: user.groups.map(({ id, display_name }) => ({ value: id, display: display_name })),
  meta: metaOf('User', user, user.version, base),
})

export const shownGroup = (group: DirectoryGroup, base: string): Shown => ({
  schemas: [groupSchema],
  id: group.id,
  ...(group.external_id !== null && { externalId: group.external_id }),
  displayName: group.display_name,
  members: group.members.map(({ member_id, user_name }) => ({ value: member_id, display: user_name })),
  meta: metaOf('Group', group, String(group.version), base),
})

export const shownList = (resources: Shown[], total: number, startIndex: number): Shown => ({
  schemas: [listSchema],
  totalResults: total,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
})
