/**
 * Settles usage that a process reserved before it died. A message that was recorded stays counted. One that was never
 * recorded is released: nobody got a response for it.
 */
import type { ExpiredReservations } from '../../customers/usage/expired-reservations.ts'
import type { ReservationRow } from '../../customers/usage/store.ts'
import { inChunks } from '../../platform/db/in-chunks.ts'
import type { Db } from '../../platform/db/pool.ts'
import { timeOfId } from '../../platform/ground/ids.ts'
import { findStatuses } from './store/message-outcomes.ts'
import type { Status } from './store/message-row.ts'

const chunk = 100

/** The scheduler sends these, and the message then uses its reservation. */
const unsent: ReadonlySet<Status> = new Set(['scheduled', 'sending'])
const sent: ReadonlySet<Status> = new Set(['sent', 'delivered', 'bounced'])

type Found = { status: Status; claim: string | null }

/**
 * Whether the usage of a message is released. A message without a row is not counted. One that was sent under another
 * claim has its own reservation, so this one would count it twice. Every other message was or may have been sent.
 */
const isReleased = ({ claim }: ReservationRow, message: Found | undefined): boolean =>
  message === undefined || (claim !== null && sent.has(message.status) && message.claim !== claim)

export const makeSettleUsage = ({ db, expired }: { db: Db; expired: ExpiredReservations }) => {
  const findMessages = async (rows: ReservationRow[]): Promise<Map<string, Found>> => {
    const messages = rows.flatMap(({ org_id, parts }) => Object.keys(parts).map((id) => ({ org_id, id })))
    const found = await db.rows(findStatuses, {
      orgIds: messages.map(({ org_id }) => org_id),
      ids: messages.map(({ id }) => id),
      createdAt: messages.map(({ id }) => new Date(timeOfId(id))),
    })
    return new Map(found.map(({ id, status, claim }) => [id, { status, claim }]))
  }

  const settle = async (row: ReservationRow, messages: Map<string, Found>): Promise<boolean> => {
    const ids = Object.keys(row.parts)
    const waits = ids.some((id) => {
      const message = messages.get(id)
      return message !== undefined && unsent.has(message.status)
    })
    if (waits) {
      await expired.postpone(row)
      return false
    }
    await expired.settle(row, new Set(ids.filter((id) => isReleased(row, messages.get(id)))))
    return true
  }

  /** Returns how many were settled. */
  const settleAll = async (rows: ReservationRow[]): Promise<number> => {
    const messages = await findMessages(rows)
    let settled = 0
    for (const row of rows) if (await settle(row, messages)) settled++
    return settled
  }

  return {
    /** Settles what has expired. Returns how many reservations and leases that were. */
    expired: async (): Promise<number> => {
      for (let total = 0; ; ) {
        const rows = await expired.find(chunk)
        total += await settleAll(rows)
        if (rows.length < chunk) return total + (await inChunks(chunk, () => expired.returnLeases(chunk)))
      }
    },
    /** Settles these reservations of a request that was interrupted, so that its retry can reserve usage again. */
    interrupted: async (orgId: string, reservationIds: string[]): Promise<void> => {
      const rows = await expired.findOf(orgId, reservationIds)
      if (rows.length > 0) await settleAll(rows)
    },
  }
}

export type SettleUsage = ReturnType<typeof makeSettleUsage>
