/** People of the directory. A person is active while they are a member. */
import type { Runner, StoreNeeds, Tx } from '../../platform/db/pool.ts'
import { sha256Hex } from '../../platform/ground/crypto.ts'
import { isId, newId } from '../../platform/ground/ids.ts'
import { findAccountByEmail } from '../signin/store/user-rows.ts'
import type { EndMembership } from '../team/manage-team.ts'
import { findRole } from '../team/store/team-rows.ts'
import type { DirectoryAccounts } from './directory-accounts.ts'
import { type DirectoryChange, type GroupMapping, keyOf } from './group-mapping.ts'
import { userFilter } from './list-filters.ts'
import { assertMatch, inTeam, type ScimPage } from './page-and-version.ts'
import type { UserChange } from './read-user.ts'
import { notInDirectory, ScimFault } from './scim-fault.ts'
import type { Condition } from './scim-filter.ts'
import { raiseGroupsOf } from './store/directory-group-rows.ts'
import {
  countDirectoryUsers,
  type DirectoryUserRow,
  deleteDirectoryUser,
  findDirectoryUser,
  findTakenUser,
  listDirectoryUsers,
  listGroupsOfUsers,
  type NamedUser,
  putDirectoryUser,
  touchDirectoryUser,
} from './store/directory-user-rows.ts'

export type DirectoryUser = DirectoryUserRow & { groups: { id: string; display_name: string }[]; version: string }

const isActive = (row: DirectoryUserRow): boolean => row.membership_id !== null

const taken = (): ScimFault => new ScimFault(409, 'A user with this userName already exists.', 'uniqueness')

/** A hash of what is shown, because changes outside the directory show too. */
const versionOf = (row: DirectoryUserRow, groups: DirectoryUser['groups']): string =>
  sha256Hex(JSON.stringify([row, groups])).slice(0, 16)

const withGroups = async (runner: Runner, orgId: string, rows: DirectoryUserRow[]): Promise<DirectoryUser[]> => {
  const found = await runner.rows(listGroupsOfUsers, { orgId, ids: rows.map(({ id }) => id) })
  const byMember = Map.groupBy(found, ({ member_id }) => member_id)
  return rows.map((row) => {
    const groups = (byMember.get(row.id) ?? []).map(({ id, display_name }) => ({ id, display_name }))
    return { ...row, groups, version: versionOf(row, groups) }
  })
}

const findIn = async (runner: Runner, orgId: string, id: string): Promise<DirectoryUser> => {
  const row = isId('membership', id) ? await runner.row(findDirectoryUser, { orgId, id }) : undefined
  if (!row) throw notInDirectory()
  return (await withGroups(runner, orgId, [row]))[0] as DirectoryUser
}

type Needs = StoreNeeds & { accounts: DirectoryAccounts; mapping: GroupMapping; endMembership: EndMembership }

export const makeDirectoryUsers = (needs: Needs) => {
  const { db, clock, accounts, mapping, endMembership } = needs

  const put = (tx: Tx, orgId: string, at: Date, row: NamedUser) =>
    tx.change(putDirectoryUser, { ...row, orgId, user_key: keyOf(row.user_name), at })

  const leave = async (tx: Tx, { orgId, actor }: DirectoryChange, row: DirectoryUserRow): Promise<void> => {
    if (row.role === 'owner') {
      throw new ScimFault(403, 'An owner of the organisation cannot be deactivated or deleted by the directory.')
    }
    const id = row.membership_id as string
    await endMembership(tx, actor, { orgId, id, userId: row.user_id, via: 'scim' })
  }

  const create = async (by: DirectoryChange, given: UserChange & { userName: string }) => {
    const { orgId, actor } = by
    const email = await accounts.addressOf(orgId, given.userName)
    return inTeam(db, orgId, async (tx) => {
      const known = await tx.row(findAccountByEmail, { email })
      const userKey = keyOf(given.userName)
      if (await tx.row(findTakenUser, { orgId, userKey, userId: known?.id ?? null })) throw taken()
      const userId = await accounts.openAccount(tx, actor, email, given)
      return insert(tx, by, userId, given)
    })
  }

  const insert = async (tx: Tx, by: DirectoryChange, userId: string, given: UserChange & { userName: string }) => {
    const { orgId } = by
    const at = clock.now()
    // An account that was never verified may just have joined, through the invitation that it was registered with.
    const member = await tx.row(findRole, { orgId, userId })
    const id = member?.id ?? newId('membership', at.getTime())
    await put(tx, orgId, at, {
      id,
      user_id: userId,
      user_name: given.userName,
      external_id: given.externalId ?? null,
      given_name: given.givenName ?? null,
      family_name: given.familyName ?? null,
      display_name: given.displayName ?? null,
      created_at: at,
    })
    if (!member && given.active !== false) await accounts.join(tx, by, { id, userId })
    return findIn(tx, orgId, id)
  }

  /** Asked before the transaction, because the answer may need another connection. */
  const checkAddresses = async (orgId: string, row: DirectoryUserRow, change: UserChange): Promise<void> => {
    if (change.userName !== undefined && keyOf(change.userName) !== keyOf(row.user_name)) {
      await accounts.addressOf(orgId, change.userName)
    }
    if (change.active === true && !isActive(row)) await accounts.assertVerified(orgId, row.email)
  }

  const store = async (tx: Tx, orgId: string, row: DirectoryUserRow, change: UserChange): Promise<void> => {
    const userName = change.userName ?? row.user_name
    if (keyOf(userName) !== keyOf(row.user_name)) {
      if (await tx.row(findTakenUser, { orgId, userKey: keyOf(userName), userId: null })) throw taken()
    }
    await put(tx, orgId, clock.now(), {
      ...row,
      user_name: userName,
      external_id: change.externalId === undefined ? row.external_id : change.externalId,
      given_name: change.givenName === undefined ? row.given_name : change.givenName,
      family_name: change.familyName === undefined ? row.family_name : change.familyName,
      display_name: change.displayName === undefined ? row.display_name : change.displayName,
    })
  }

  const change = async (by: DirectoryChange, id: string, given: UserChange, ifMatch: string | undefined) => {
    const { orgId } = by
    await checkAddresses(orgId, await findIn(db, orgId, id), given)
    return inTeam(db, orgId, async (tx) => {
      const row = await findIn(tx, orgId, id)
      assertMatch(ifMatch, row.version)
      await store(tx, orgId, row, given)
      if (given.active !== undefined && given.active !== isActive(row)) {
        if (given.active) await accounts.join(tx, by, { id, userId: row.user_id })
        else await leave(tx, by, row)
        await tx.change(touchDirectoryUser, { orgId, id, at: clock.now() })
      }
      await mapping.applyRoles(tx, by, [row.user_id])
      return findIn(tx, orgId, id)
    })
  }

  return {
    list: async (orgId: string, conditions: Condition[], { startIndex, count }: ScimPage) => {
      const filter = { orgId, ...userFilter(conditions) }
      const total = (await db.row(countDirectoryUsers, filter))?.n ?? 0
      const rows = await db.rows(listDirectoryUsers, { ...filter, offset: startIndex - 1, limit: count })
      return { total, rows: await withGroups(db, orgId, rows) }
    },
    find: (orgId: string, id: string) => findIn(db, orgId, id),
    create,
    change,
    remove: (by: DirectoryChange, id: string, ifMatch: string | undefined) =>
      inTeam(db, by.orgId, async (tx) => {
        const { orgId } = by
        const row = await findIn(tx, orgId, id)
        assertMatch(ifMatch, row.version)
        if (isActive(row)) await leave(tx, by, row)
        await tx.change(raiseGroupsOf, { orgId, memberId: id, at: clock.now() })
        await tx.change(deleteDirectoryUser, { orgId, id })
      }),
  }
}

export type DirectoryUsers = ReturnType<typeof makeDirectoryUsers>
