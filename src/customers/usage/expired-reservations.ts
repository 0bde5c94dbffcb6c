/** Settles the reservations and leases of processes that died before their messages had a final state. */
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { reservationLeaseMs } from './decide-reservations.ts'
import { counterColumns, linesOfParts } from './lines.ts'
import {
  findExpired,
  findExpiredLeases,
  findReservations,
  postponeExpired,
  type ReservationRow,
  returnLease,
  settleExpired,
} from './store.ts'

export const makeExpiredReservations = ({ db, clock }: StoreNeeds) => ({
  find: (limit: number) => db.rows(findExpired, { now: clock.now(), limit }),
  /** Reservations of a request that was interrupted, whether or not they have expired. */
  findOf: (orgId: string, ids: string[]) => db.rows(findReservations, { orgId, ids }),
  /** Deletes the reservation. Releases the usage of these messages and keeps that of the others counted. */
  settle: async (
    { org_id: orgId, id, expires_at: expiresAt, reserved_at: at, parts }: ReservationRow,
    releasedIds: ReadonlySet<string>,
  ) => {
    const released = Object.entries(parts).filter(([messageId]) => releasedIds.has(messageId))
    const lines = linesOfParts(orgId, Object.fromEntries(released), at)
    const amounts = lines.map((line) => line.amount)
    await db.change(settleExpired, { orgId, id, expiresAt, ...counterColumns(lines), amounts })
  },
  /** Leaves the reservation to a message that has yet to be sent. */
  postpone: async ({ org_id: orgId, id, expires_at: expiresAt }: ReservationRow) => {
    await db.change(postponeExpired, { orgId, id, expiresAt, until: new Date(clock.millis() + reservationLeaseMs) })
  },
  /** Returns the leases of processes that died. What they drew is counted with the messages that were recorded. */
  returnLeases: async (limit: number) => {
    const rows = await db.rows(findExpiredLeases, { now: clock.now(), limit })
    for (const { org_id: orgId, id } of rows) await db.row(returnLease, { orgId, id })
    return rows.length
  },
})

export type ExpiredReservations = ReturnType<typeof makeExpiredReservations>
