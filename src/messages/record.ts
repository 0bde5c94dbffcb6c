/** Stores messages. A message, its event, its audit entry and its idempotent response commit together. */
import type { Audit, AuditEntry, EntryFields } from '../audit/append.ts'
import { makeStepBatcher } from '../db/batch.ts'
import { hadNoEffect } from '../db/faults.ts'
import { insertWithRetry } from '../db/outage.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { AnnounceEvents } from '../events/announce-events.ts'
import { newId } from '../ground/ids.ts'
import { iso } from '../ground/instant.ts'
import { currentTraceparent } from '../ground/tracing.ts'
import type { Idempotency, IdempotencyClaim } from '../idempotency/claims.ts'
import { type Line, settledUsage } from '../usage/lines.ts'
import { insertMessages, type LinkedRows, type NewMessage } from './store/insert-messages.ts'

/** The event that reports the status of a new message. */
export type StateEvent = { at: Date; more?: LinkedRows['event_more'] }

export type Recording = {
  message: NewMessage
  event?: StateEvent
  /** The audit entry of the request. Only for requests that send a single message. */
  entry?: AuditEntry
  answer?: { claim: IdempotencyClaim; status: number; body: string }
  /** Usage that was drawn from a lease and is counted with this record. Other usage was counted when it was reserved. */
  drawn?: Line[]
  /** The trace of the request. A statement serves several requests, so it cannot be read there. */
  trace?: string
}

export type RecordMessage = (recording: Recording) => Promise<void>

type Needs = { db: Db; audit: Audit; idempotency: Idempotency; announce: AnnounceEvents }

/** A single object literal, for speed: this runs for every message. */
const linkedRows = (
  event: StateEvent | undefined,
  entry: EntryFields | undefined,
  trace: string | undefined,
): LinkedRows => ({
  event_id: event && newId('event', event.at.getTime()),
  event_at: event && iso(event.at),
  event_more: event?.more,
  event_trace: trace,
  entry_id: entry?.id,
  entry_actor: entry?.actorUserId ?? undefined,
  entry_action: entry?.action,
  entry_metadata: entry?.metadata ?? undefined,
  entry_ip: entry?.ip ?? undefined,
  entry_agent: entry?.userAgent,
  entry_at: entry && iso(entry.createdAt),
  entry_signature: entry?.signature ?? undefined,
  entry_seal: entry?.seal ?? undefined,
})

export const makeRecordMessage = ({ db, audit, idempotency, announce }: Needs): RecordMessage => {
  /** Returns the audit entries that it inserted. */
  const insert = async (runner: Pick<Tx, 'change'>, batch: Recording[]): Promise<EntryFields[]> => {
    const messages = batch.map(({ message }) => message)
    const reserved = batch.flatMap(({ message, drawn }) => (drawn ? [] : [{ orgId: message.org_id, id: message.id }]))
    const entries = batch.map(({ entry }) => entry && audit.rowOf(entry))
    const linked = batch.map(({ event, trace }, i) => linkedRows(event, entries[i], trace))
    await runner.change(insertMessages, {
      ...settledUsage(
        reserved,
        batch.flatMap(({ drawn }) => drawn ?? []),
      ),
      messages: JSON.stringify(messages),
      linked: JSON.stringify(linked),
    })
    return entries.filter((entry) => entry !== undefined)
  }

  const recordAll = async (batch: Recording[]): Promise<void> => {
    const answers = batch.flatMap(({ answer }) => answer ?? [])
    if (answers.length === 0) audit.committed(await insert(db, batch))
    else {
      await db.tx(async (tx) => {
        const entries = await insert(tx, batch)
        tx.afterCommit(() => audit.committed(entries))
        await idempotency.recordWith(tx, answers)
      })
    }
  }

  /** Stores the message even if its audit entry cannot be stored. The audit logs the missing entry. */
  const recordOne = ({ message, event, entry, answer, drawn, trace }: Recording): Promise<void> =>
    db.tx(async (tx) => {
      await insert(tx, [
        { message, ...(event && { event }), ...(drawn && { drawn }), ...(trace !== undefined && { trace }) },
      ])
      if (entry) await audit(tx, entry)
      if (answer) await idempotency.recordWith(tx, [answer])
    })

  const records = makeStepBatcher<Recording, void>({
    name: 'messages.record',
    weight: ({ message: { html, text } }) => (html?.length ?? 0) + (text?.length ?? 0),
    run: async (batch) => {
      try {
        await recordAll(batch)
      } catch (error) {
        // When PostgreSQL rejects a batch, the batcher retries each row alone, and a rejected row ends up here.
        if (batch.length > 1 || !hadNoEffect(error)) throw error
        await recordOne(batch[0] as Recording)
      }
      announce(batch.filter(({ event }) => event).length)
      return batch.map(() => undefined)
    },
  })

  return (recording) => {
    const trace = currentTraceparent()
    const traced = trace === undefined ? recording : { ...recording, trace }
    return insertWithRetry(() => records.submit(traced))
  }
}
