/** Who is signed in, and what they can change about themselves. */
import { roles } from '../accounts/sessions.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { type AccountRow, changeProfile, findAccount, listMemberships, type MembershipRow } from './store/user-rows.ts'

export interface Profiles {
  read(userId: string): Promise<AccountRow>
  /** The user's orgs, the default one first. Memberships whose role this version does not know are left out. */
  orgs(userId: string): Promise<MembershipRow[]>
  /** A default org that the user does not belong to is not found. */
  change(userId: string, change: { name?: string; defaultOrgId?: string }): Promise<AccountRow>
}

const known: readonly string[] = roles

export const makeProfiles = ({ db, clock }: { db: Db; clock: Clock }): Profiles => {
  const read = async (userId: string): Promise<AccountRow> => {
    const account = await db.row(findAccount, { userId })
    if (!account) throw new Failure('UNAUTHORIZED')
    return account
  }
  return {
    read,
    orgs: async (userId) => (await db.rows(listMemberships, { userId })).filter(({ role }) => known.includes(role)),
    change: async (
      userId,
      { name = null, defaultOrgId = null }: { name?: string | null; defaultOrgId?: string | null },
    ) => {
      if (!(await db.row(changeProfile, { userId, name, defaultOrgId, at: clock.now() })))
        throw new Failure('NOT_FOUND')
      return read(userId)
    },
  }
}
