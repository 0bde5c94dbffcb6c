/**
 * Stores messages. A message, its event, its audit entry and its idempotent response commit together. So do the messages
 * of a batch that are stored at the same time, with an audit entry about all of them.
 */
import { type Line, settledUsage } from '../../customers/usage/lines.ts'
import { settleUsage } from '../../customers/usage/store.ts'
import type { Audit, AuditEntry, EntryFields } from '../../journal/audit/append.ts'
import type { AnnounceEvents } from '../../journal/events/announce-events.ts'
import { makeStepBatcher } from '../../platform/db/batch.ts'
import { hadNoEffect, uniqueViolation } from '../../platform/db/faults.ts'
import { insertWithRetry } from '../../platform/db/outage.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import { newId } from '../../platform/ground/ids.ts'
import { iso } from '../../platform/ground/instant.ts'
import type { Log } from '../../platform/ground/log.ts'
import { currentTraceparent } from '../../platform/ground/tracing.ts'
import type { Idempotency, IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import { insertMessages, type LinkedRows, packMessages } from './store/insert-messages.ts'
import type { NewMessage } from './store/message-row.ts'

export type Recording = {
  message: NewMessage
  /** The event that reports the status of a new message. */
  event?: { at: Date; more?: LinkedRows['event_more'] }
  /** The audit entry of the request, or of the messages that are stored together. */
  entry?: AuditEntry
  answer?: { claim: IdempotencyClaim; status: number; body: string }
  /** The stored reservation of the batch whose last messages these are. What it still reserves stays counted. */
  closes?: { orgId: string; id: string }
  /** Usage that was drawn from a lease and is counted with this record. Other usage was counted when it was reserved. */
  drawn?: Line[]
  /** The trace of the request. A statement serves several requests, so it cannot be read there. */
  trace?: string
}

export type RecordMessage = (recording: Recording) => Promise<void>

/** The messages of a call that are stored together. */
export type RecordingChunk = {
  recordings: Recording[]
  /** What commits with those messages, given which of them can be stored. */
  withThem: (stored: readonly boolean[]) => Pick<Recording, 'entry' | 'answer' | 'closes'>
}

/** Resolves with which messages were stored. */
export type RecordChunk = (chunk: RecordingChunk) => Promise<boolean[]>

type Inserted = {
  entries: EntryFields[]
  events: number
}

type Needs = { db: Db; log: Log; audit: Audit; idempotency: Idempotency; announce: AnnounceEvents }

/** A single object literal, for speed: this runs for every message. */
const linkedRows = (event: Recording['event'], entry?: EntryFields, trace?: string): LinkedRows => ({
  event_id: event && newId('event', event.at.getTime()),
  event_at: event && iso(event.at),
  event_more: event?.more,
  event_trace: trace,
  entry_id: entry?.id,
  entry_actor: entry?.actorUserId ?? undefined,
  entry_action: entry?.action,
  entry_metadata: entry?.metadata ?? undefined,
  entry_ip: entry?.ip ?? undefined,
  // Many requests have none.
  entry_agent: entry?.userAgent || undefined,
  entry_at: entry && iso(entry.createdAt),
  entry_signature: entry?.signature ?? undefined,
  entry_seal: entry?.seal ?? undefined,
  entry_of_many: entry && entry.resourceId === null ? true : undefined,
})

const weightOf = ({ message: { html, text } }: Recording): number => (html?.length ?? 0) + (text?.length ?? 0)

/** The characters that a row is worth besides its content, so that a statement has 200 rows at most. */
const rowWeight = 40_000

export const weightInChunk = (recording: Recording): number => weightOf(recording) + rowWeight

export const makeRecordMessages = ({ db, log, audit, idempotency, announce }: Needs) => {
  const insert = async (runner: Pick<Tx, 'row'>, batch: Recording[]): Promise<Inserted> => {
    const reserved = batch.flatMap(({ message, drawn, closes }) => [
      ...(drawn ? [] : [{ orgId: message.org_id, id: message.id }]),
      ...(closes ? [closes] : []),
    ])
    const entries = batch.map(({ entry }) => entry && audit.rowOf(entry))
    const rows = batch.map(({ message, event, trace }, i) => ({
      message,
      linked: linkedRows(event, entries[i], trace),
    }))
    const drawn = batch.flatMap((recording) => (recording.drawn ? [recording.drawn] : []))
    const inserted = await runner.row(insertMessages, { ...settledUsage(reserved, drawn), ...packMessages(rows) })
    return { entries: entries.filter((entry) => entry !== undefined), events: inserted?.events ?? 0 }
  }

  const committed = ({ entries, events }: Inserted): void => {
    audit.committed(entries)
    announce(events)
  }

  const recordAll = async (batch: Recording[]): Promise<void> => {
    const answers = batch.flatMap(({ answer }) => answer ?? [])
    if (answers.length === 0) committed(await insert(db, batch))
    else {
      await db.tx(async (tx) => {
        const inserted = await insert(tx, batch)
        tx.afterCommit(() => committed(inserted))
        await idempotency.recordWith(tx, answers)
      })
    }
  }

  /** Stores the message even if its audit entry cannot be stored. The audit logs the missing entry. */
  const recordOne = ({ entry, answer, closes: _, ...alone }: Recording): Promise<void> =>
    db.tx(async (tx) => {
      const inserted = await insert(tx, [alone])
      tx.afterCommit(() => committed(inserted))
      if (entry) await audit(tx, entry)
      if (answer) await idempotency.recordWith(tx, [answer])
    })

  const records = makeStepBatcher<Recording, void>({
    name: 'messages.record',
    weight: weightOf,
    run: async (batch) => {
      try {
        await recordAll(batch)
      } catch (error) {
        // When PostgreSQL rejects a batch, the batcher retries each row alone, and a rejected row ends up here.
        if (batch.length > 1 || !hadNoEffect(error)) throw error
        await recordOne(batch[0] as Recording)
      }
      return batch.map(() => undefined)
    },
  })

  /** The recordings as one batch, with what commits with them on the first. */
  const asBatch = ({ recordings, withThem }: RecordingChunk): Recording[] => {
    const [first, ...others] = recordings as [Recording, ...Recording[]]
    return [{ ...first, ...withThem(recordings.map(() => true)) }, ...others]
  }

  /** Stores those rows of a chunk that can be stored, one by one, and the rest of it with them. */
  const recordRemainder = ({ recordings, withThem }: RecordingChunk): Promise<boolean[]> =>
    db.tx(async (tx) => {
      const stored: boolean[] = []
      for (const recording of recordings) {
        const insertion = tx.savepoint(() => insert(tx, [recording]))
        const isStored = await insertion.then(
          (inserted) => {
            tx.afterCommit(() => committed(inserted))
            return true
          },
          (error) => {
            log.error({ err: error, message_id: recording.message.id }, 'sent message not recorded')
            return false
          },
        )
        stored.push(isStored)
      }
      const { entry, answer, closes } = withThem(stored)
      if (closes) await tx.row(settleUsage, settledUsage([closes], []))
      if (entry) await audit(tx, entry)
      if (answer) await idempotency.recordWith(tx, [answer])
      return stored
    })

  const chunks = makeStepBatcher<RecordingChunk, boolean[]>({
    name: 'messages.record_chunk',
    weight: ({ recordings }) => recordings.reduce((sum, recording) => sum + weightInChunk(recording), 0),
    run: async (batch) => {
      const recordings = batch.flatMap(asBatch)
      let stored = batch.map((chunk) => chunk.recordings.map(() => true))
      try {
        await recordAll(recordings)
      } catch (error) {
        // A message that is stored already was stored by an earlier try of the same chunk, and so was the rest of it.
        if (batch.length > 1 || !hadNoEffect(error) || uniqueViolation(error)) throw error
        stored = [await recordRemainder(batch[0] as RecordingChunk)]
      }
      return stored
    },
  })

  const traced = <R extends Recording>(recording: R): R => {
    const trace = currentTraceparent()
    return trace === undefined ? recording : { ...recording, trace }
  }

  const record: RecordMessage = (recording) => {
    const ofThisRequest = traced(recording)
    return insertWithRetry(() => records.submit(ofThisRequest))
  }

  const recordChunk: RecordChunk = async ({ recordings, withThem }) => {
    const chunk = { recordings: recordings.map(traced), withThem }
    let stored = recordings.map(() => true)
    await insertWithRetry(async () => {
      stored = await chunks.submit(chunk)
    })
    return stored
  }

  return { record, recordChunk }
}
