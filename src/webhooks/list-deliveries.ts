/** Lists deliveries, newest first: of an endpoint, of a whole org, and about a message. */
import type { Db } from '../platform/db/pool.ts'
import { keysetOf, type PageAsked } from '../platform/ground/cursor.ts'
import { minuteMs } from '../platform/ground/units.ts'
import { listDeliveries, listMessageDeliveries, listOrgDeliveries } from './store/delivery-rows.ts'

type Filters = { status: string | null; event: string | null }
type AboutMessage = { orgId: string; messageId: string; sentAt: Date }

/** The clocks of two processes may differ by so much. */
const clockSkewMs = minuteMs

export const makeListDeliveries = ({ db }: { db: Db }) => ({
  ofEndpoint: (of: Filters & { orgId: string; endpointId: string }, page: PageAsked) =>
    db.rows(listDeliveries, { ...of, ...keysetOf(page) }),
  ofOrg: (of: Filters & { orgId: string; endpointId: string | null }, page: PageAsked) =>
    db.rows(listOrgDeliveries, { ...of, ...keysetOf(page) }),
  aboutMessage: ({ orgId, messageId, sentAt }: AboutMessage, page: PageAsked) => {
    const since = new Date(sentAt.getTime() - clockSkewMs)
    return db.rows(listMessageDeliveries, { orgId, messageId, since, ...keysetOf(page) })
  },
})

export type ListDeliveries = ReturnType<typeof makeListDeliveries>
