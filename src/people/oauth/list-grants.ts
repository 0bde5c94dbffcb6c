/** Lists what people allowed clients to do. */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { type GrantRow, listGrantsOfOrg, listGrantsOfUser } from './store/grant-rows.ts'

export interface ListGrants {
  /** With `onlyOrgId`, those in that org. */
  ofUser(of: { userId: string; onlyOrgId: string | null }, page: PageAsked): Promise<GrantRow[]>
  ofOrg(orgId: string, page: PageAsked): Promise<GrantRow[]>
}

export const makeListGrants = ({ db, clock }: { db: Db; clock: Clock }): ListGrants => ({
  ofUser: (of, page) => db.rows(listGrantsOfUser, { ...of, at: clock.now(), ...keysetOf(page) }),
  ofOrg: (orgId, page) => db.rows(listGrantsOfOrg, { orgId, at: clock.now(), ...keysetOf(page) }),
})
