/** Who is signed in, and what they can change about themselves. */
import { roles } from '../../customers/accounts/sessions.ts'
import { assertOpenTo } from '../../customers/accounts/sso-enforcement.ts'
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { type AccountRow, changeProfile, findAccount, listMemberships } from './store/user-rows.ts'

type OwnSession = { userId: string; sessionId: string }

const known: readonly string[] = roles

export const makeProfiles = ({ db, clock }: StoreNeeds) => {
  const read = async (userId: string): Promise<AccountRow> => {
    const account = await db.row(findAccount, { userId })
    if (!account) throw new Failure('UNAUTHORIZED')
    return account
  }
  return {
    read,
    /** The user's orgs, the default one first. Memberships whose role this version does not know are left out. */
    orgs: async (userId: string) =>
      (await db.rows(listMemberships, { userId })).filter(({ role }) => known.includes(role)),
    /** A default org that the user does not belong to is not found, and one that is closed to the session is refused. */
    change: async (
      session: OwnSession,
      { name = null, defaultOrgId = null }: { name?: string | null; defaultOrgId?: string | null },
    ) => {
      const { userId } = session
      if (defaultOrgId !== null) await assertOpenTo(db, session, defaultOrgId)
      if (!(await db.row(changeProfile, { userId, name, defaultOrgId, at: clock.now() })))
        throw new Failure('NOT_FOUND')
      return read(userId)
    },
  }
}

export type Profiles = ReturnType<typeof makeProfiles>
