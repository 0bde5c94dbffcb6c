/** Lists deliveries, newest first: of an endpoint, of a whole org, and about a message. */
import type { Db } from '../platform/db/pool.ts'
import { keysetOf, type PageAsked } from '../platform/ground/cursor.ts'
import { minuteMs } from '../platform/ground/units.ts'
import { type DeliveryRow, listDeliveries, listMessageDeliveries, listOrgDeliveries } from './store/delivery-rows.ts'

type Filters = { status: string | null; event: string | null }

export interface ListDeliveries {
  ofEndpoint(of: Filters & { orgId: string; endpointId: string }, page: PageAsked): Promise<DeliveryRow[]>
  ofOrg(of: Filters & { orgId: string; endpointId: string | null }, page: PageAsked): Promise<DeliveryRow[]>
  aboutMessage(of: { orgId: string; messageId: string; sentAt: Date }, page: PageAsked): Promise<DeliveryRow[]>
}

/** The clocks of two processes may differ by so much. */
const clockSkewMs = minuteMs

export const makeListDeliveries = ({ db }: { db: Db }): ListDeliveries => ({
  ofEndpoint: (of, page) => db.rows(listDeliveries, { ...of, ...keysetOf(page) }),
  ofOrg: (of, page) => db.rows(listOrgDeliveries, { ...of, ...keysetOf(page) }),
  aboutMessage: ({ orgId, messageId, sentAt }, page) => {
    const since = new Date(sentAt.getTime() - clockSkewMs)
    return db.rows(listMessageDeliveries, { orgId, messageId, since, ...keysetOf(page) })
  },
})
