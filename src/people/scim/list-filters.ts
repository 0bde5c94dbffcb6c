/** The filters that the lists of users and groups accept. */
import { keyOf } from './group-mapping.ts'
import { readFlag } from './read-patch.ts'
import { ScimFault } from './scim-fault.ts'
import type { Condition } from './scim-filter.ts'
import type { GroupFilter } from './store/directory-group-rows.ts'
import type { UserFilter } from './store/directory-user-rows.ts'

const textOf = ({ attribute, value }: Condition): string => {
  if (typeof value === 'string') return value
  throw new ScimFault(400, `Compare ${attribute} with a text in double quotes.`, 'invalidFilter')
}

const readConditions = <T extends object>(
  conditions: Condition[],
  none: T,
  readers: Record<string, (condition: Condition) => Partial<T>>,
): T => {
  let filter = none
  for (const condition of conditions) {
    const read = Object.hasOwn(readers, condition.attribute) ? readers[condition.attribute] : undefined
    if (!read) throw new ScimFault(400, `The list cannot be filtered by ${condition.attribute}.`, 'invalidFilter')
    filter = { ...filter, ...read(condition) }
  }
  return filter
}

type ForUsers = Omit<UserFilter, 'orgId'>
type ForGroups = Omit<GroupFilter, 'orgId'>

const byEmail = (condition: Condition): Partial<ForUsers> => ({ email: textOf(condition).toLowerCase() })

export const userFilter = (conditions: Condition[]): ForUsers =>
  readConditions<ForUsers>(
    conditions,
    { id: null, userKey: null, externalId: null, displayName: null, email: null, active: null },
    {
      id: (one) => ({ id: textOf(one) }),
      username: (one) => ({ userKey: keyOf(textOf(one)) }),
      externalid: (one) => ({ externalId: textOf(one) }),
      displayname: (one) => ({ displayName: textOf(one) }),
      emails: byEmail,
      'emails.value': byEmail,
      active: ({ value }) => ({ active: readFlag(value, 'active') }),
    },
  )

const byMember = (condition: Condition): Partial<ForGroups> => ({ memberId: textOf(condition) })

export const groupFilter = (conditions: Condition[]): ForGroups =>
  readConditions<ForGroups>(
    conditions,
    { id: null, displayKey: null, externalId: null, memberId: null },
    {
      id: (one) => ({ id: textOf(one) }),
      displayname: (one) => ({ displayKey: keyOf(textOf(one)) }),
      externalid: (one) => ({ externalId: textOf(one) }),
      members: byMember,
      'members.value': byMember,
    },
  )
