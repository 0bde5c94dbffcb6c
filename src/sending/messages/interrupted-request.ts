/**
 * What an interrupted request left behind: the messages that it stored, and the usage that it reserved. The request that
 * repeats it has the same ids, so it sends only the messages that are not stored.
 */
import type { Db } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { timeOfId } from '../../platform/ground/ids.ts'
import { iso } from '../../platform/ground/instant.ts'
import type { AcceptedMessage } from './sent-message.ts'
import type { SettleUsage } from './settle-usage.ts'
import { findRecorded, type RecordedRow } from './store/message-outcomes.ts'

/**
 * Resolves with the stored messages among those, by id. The usage of the others is released. `reservationIds` are the
 * reservations that the request made besides those of its messages.
 */
export const makeTakeUpInterrupted =
  ({ db, settleUsage }: { db: Db; settleUsage: SettleUsage }) =>
  async (orgId: string, messageIds: string[], reservationIds: string[] = []): Promise<Map<string, RecordedRow>> => {
    await settleUsage.interrupted(orgId, [...messageIds, ...reservationIds])
    const createdAt = messageIds.map((id) => new Date(timeOfId(id)))
    const rows = await db.rows(findRecorded, { orgId, ids: messageIds, createdAt })
    return new Map(rows.map((row) => [row.id, row]))
  }

export type TakeUpInterrupted = ReturnType<typeof makeTakeUpInterrupted>

/** The response that the interrupted request would have given for its message. */
export const answerOfRecorded = (row: RecordedRow): AcceptedMessage => {
  const { id, channel, scheduled_at: scheduledAt, sent_at: sentAt } = row
  if (scheduledAt === null && sentAt === null) throw new Failure('INTERNAL_ERROR', { extra: { message_id: id } })
  return {
    id,
    channel,
    status: scheduledAt === null ? 'sent' : 'scheduled',
    ...(row.sms && { segments: row.sms.segments }),
    created_at: iso(row.created_at),
    ...(scheduledAt && { scheduled_at: iso(scheduledAt) }),
  }
}
