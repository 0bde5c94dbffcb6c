/** Lists what people allowed clients to do. */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { listGrantsOfOrg, listGrantsOfUser } from './store/grant-rows.ts'

export const makeListGrants = ({ db, clock }: { db: Db; clock: Clock }) => ({
  /** With `onlyOrgId`, those in that org. */
  ofUser: (of: { userId: string; onlyOrgId: string | null }, page: PageAsked) =>
    db.rows(listGrantsOfUser, { ...of, at: clock.now(), ...keysetOf(page) }),
  ofOrg: (orgId: string, page: PageAsked) => db.rows(listGrantsOfOrg, { orgId, at: clock.now(), ...keysetOf(page) }),
})

export type ListGrants = ReturnType<typeof makeListGrants>
