/** Groups of the directory. Their members get the roles that the mapping gives. */
import type { Db, Runner, StoreNeeds, Tx } from '../../platform/db/pool.ts'
import { isId, newId } from '../../platform/ground/ids.ts'
import { type DirectoryChange, type GroupMapping, keyOf } from './group-mapping.ts'
import { groupFilter } from './list-filters.ts'
import { assertMatch, inTeam, type ScimPage } from './page-and-version.ts'
import { type GroupState, patchGroup } from './read-group.ts'
import type { PatchOperation } from './read-patch.ts'
import { invalidScimValue, notInDirectory, ScimFault } from './scim-fault.ts'
import type { Condition } from './scim-filter.ts'
import {
  addGroupMembers,
  changeDirectoryGroup,
  countDirectoryGroups,
  countGroupMembers,
  type DirectoryGroupRow,
  deleteDirectoryGroup,
  findDirectoryGroup,
  type GroupMemberRow,
  insertDirectoryGroup,
  listDirectoryGroups,
  listGroupMembers,
  removeGroupMembers,
} from './store/directory-group-rows.ts'
import { findUsersById, registerMembers } from './store/directory-user-rows.ts'

export type DirectoryGroup = DirectoryGroupRow & { members: GroupMemberRow[] }

/** Without its members a large group is quick to read. */
type GroupRead = { members: boolean }

/** A page ends early rather than show more members than this. It has at least one group. */
const membersPerPage = 20_000
const maxGroups = 1_000

const taken = (): ScimFault => new ScimFault(409, 'A group with this displayName already exists.', 'uniqueness')

const findIn = async (runner: Runner, orgId: string, id: string, read: GroupRead): Promise<DirectoryGroup> => {
  const row = isId('scimGroup', id) ? await runner.row(findDirectoryGroup, { orgId, id }) : undefined
  if (!row) throw notInDirectory()
  return { ...row, members: read.members ? await runner.rows(listGroupMembers, { orgId, ids: [id] }) : [] }
}

const withMembers = async (db: Db, orgId: string, rows: DirectoryGroupRow[]): Promise<DirectoryGroup[]> => {
  const ids = rows.map(({ id }) => id)
  const sizes = new Map((await db.rows(countGroupMembers, { orgId, ids })).map(({ group_id, n }) => [group_id, n]))
  let sum = 0
  const shown = rows.filter(({ id }, i) => {
    sum += sizes.get(id) ?? 0
    return i === 0 || sum <= membersPerPage
  })
  const members = await db.rows(listGroupMembers, { orgId, ids: shown.map(({ id }) => id) })
  const byGroup = Map.groupBy(members, ({ group_id }) => group_id)
  return shown.map((row) => ({ ...row, members: byGroup.get(row.id) ?? [] }))
}

const idsOf = (group: DirectoryGroup): Set<string> => new Set(group.members.map(({ member_id }) => member_id))

const stateOf = (group: DirectoryGroup): GroupState => ({
  displayName: group.display_name,
  externalId: group.external_id,
  members: idsOf(group),
})

export const makeDirectoryGroups = ({ db, clock, mapping }: StoreNeeds & { mapping: GroupMapping }) => {
  const whole = { members: true }

  /** Adds people to a group, and returns the ids of their accounts. */
  const addMembers = async (tx: Tx, orgId: string, groupId: string, memberIds: string[]): Promise<string[]> => {
    if (memberIds.length === 0) return []
    const found = await tx.rows(findUsersById, { orgId, ids: memberIds })
    if (found.length < memberIds.length) throw invalidScimValue('A member is not a user of this directory.')
    await tx.change(registerMembers, { orgId, ids: memberIds })
    await tx.change(addGroupMembers, { orgId, groupId, memberIds })
    return found.map(({ user_id }) => user_id)
  }

  /** Makes the group what it should be, and returns the accounts whose role may be another now. */
  const apply = async (tx: Tx, orgId: string, former: DirectoryGroup, next: GroupState): Promise<string[]> => {
    const { id } = former
    const before = idsOf(former)
    const added = [...next.members].filter((memberId) => !before.has(memberId))
    const removed = former.members.filter(({ member_id }) => !next.members.has(member_id))
    const renamed = next.displayName !== former.display_name
    if (added.length + removed.length === 0 && !renamed && next.externalId === former.external_id) return []
    const { displayName, externalId } = next
    const row = { orgId, id, displayName, displayKey: keyOf(displayName), externalId, at: clock.now() }
    if (!(await tx.row(changeDirectoryGroup, row))) throw taken()
    await tx.change(removeGroupMembers, { orgId, groupId: id, memberIds: removed.map(({ member_id }) => member_id) })
    const joined = await addMembers(tx, orgId, id, added)
    const left = (renamed ? former.members : removed).map(({ user_id }) => user_id)
    return [...joined, ...left]
  }

  const change = (
    by: DirectoryChange,
    id: string,
    ifMatch: string | undefined,
    nextOf: (state: GroupState) => GroupState,
  ): Promise<DirectoryGroup> =>
    inTeam(db, by.orgId, async (tx) => {
      const { orgId } = by
      const former = await findIn(tx, orgId, id, whole)
      assertMatch(ifMatch, String(former.version))
      await mapping.applyRoles(tx, by, await apply(tx, orgId, former, nextOf(stateOf(former))))
      return findIn(tx, orgId, id, whole)
    })

  const create = (by: DirectoryChange, { displayName, externalId, members }: GroupState) =>
    inTeam(db, by.orgId, async (tx) => {
      const { orgId } = by
      const none = { orgId, id: null, displayKey: null, externalId: null, memberId: null }
      if (((await tx.row(countDirectoryGroups, none))?.n ?? 0) >= maxGroups) {
        throw invalidScimValue(`A directory can have at most ${maxGroups} groups.`)
      }
      const at = clock.now()
      const id = newId('scimGroup', at.getTime())
      const row = { orgId, id, displayName, displayKey: keyOf(displayName), externalId, at }
      if (!(await tx.row(insertDirectoryGroup, row))) throw taken()
      await mapping.applyRoles(tx, by, await addMembers(tx, orgId, id, [...members]))
      return findIn(tx, orgId, id, whole)
    })

  return {
    list: async (orgId: string, conditions: Condition[], { startIndex, count }: ScimPage, read: GroupRead) => {
      const filter = { orgId, ...groupFilter(conditions) }
      const total = (await db.row(countDirectoryGroups, filter))?.n ?? 0
      const rows = await db.rows(listDirectoryGroups, { ...filter, offset: startIndex - 1, limit: count })
      return {
        total,
        rows: read.members ? await withMembers(db, orgId, rows) : rows.map((row) => ({ ...row, members: [] })),
      }
    },
    find: (orgId: string, id: string, read: GroupRead) => findIn(db, orgId, id, read),
    create,
    replace: (by: DirectoryChange, id: string, given: GroupState, ifMatch: string | undefined) =>
      change(by, id, ifMatch, () => given),
    patch: (by: DirectoryChange, id: string, operations: PatchOperation[], ifMatch: string | undefined) =>
      change(by, id, ifMatch, (state) => patchGroup(state, operations)),
    remove: (by: DirectoryChange, id: string, ifMatch: string | undefined) =>
      inTeam(db, by.orgId, async (tx) => {
        const { orgId } = by
        const former = await findIn(tx, orgId, id, whole)
        assertMatch(ifMatch, String(former.version))
        await tx.change(deleteDirectoryGroup, { orgId, id })
        await mapping.applyRoles(
          tx,
          by,
          former.members.map(({ user_id }) => user_id),
        )
      }),
  }
}

export type DirectoryGroups = ReturnType<typeof makeDirectoryGroups>
