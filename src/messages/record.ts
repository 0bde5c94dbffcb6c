/** Writes what was sent: message, event, audit entry and idempotent answer commit together or not at all. */
import type { Audit, Entry } from '../audit/append.ts'
import { makeBatcher, unhurriedMs } from '../db/batch.ts'
import { refusedCleanly, uniqueViolation } from '../db/faults.ts'
import { throughOutage } from '../db/outage.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { Claim, Idempotency } from '../idempotency/claims.ts'
import { type EventRow, insertMessages, type NewMessage } from './store.ts'

export type Recording = {
  message: NewMessage
  event?: EventRow
  /** The entry of the request, where this message is all of it. */
  entry?: Entry
  answer?: { claim: Claim; status: number; body: string }
}

export type Record = (recording: Recording) => Promise<void>

type Needs = { db: Db; audit: Audit; idempotency: Idempotency }

export const makeRecord = ({ db, audit, idempotency }: Needs): Record => {
  const insert = (runner: Pick<Tx, 'change'>, batch: Recording[], entries: Entry[]): Promise<number> =>
    runner.change(
      insertMessages,
      JSON.stringify(batch.map(({ message }) => message)),
      JSON.stringify(batch.flatMap(({ event }) => event ?? [])),
      audit.rowsOf(entries),
    )

  const recordAll = async (batch: Recording[]): Promise<void> => {
    const entries = batch.flatMap(({ entry }) => entry ?? [])
    const answers = batch.flatMap(({ answer }) => answer ?? [])
    if (answers.length === 0) await insert(db, batch, entries)
    else {
      await db.tx(async (tx) => {
        await insert(tx, batch, entries)
        await idempotency.recordWith(tx, answers)
      })
    }
  }

  /** One message whose entry cannot be written goes without it: the audit says so in the log. */
  const recordOne = ({ message, event, entry, answer }: Recording): Promise<void> =>
    db.tx(async (tx) => {
      await insert(tx, [{ message, ...(event && { event }) }], [])
      if (entry) await audit(tx, entry)
      if (answer) await idempotency.recordWith(tx, [answer])
    })

  const records = makeBatcher<Recording, void>({
    name: 'messages.record',
    waitMs: unhurriedMs,
    run: async (batch) => {
      try {
        await recordAll(batch)
      } catch (error) {
        // Of a batch that was refused each row is tried alone by the batcher, and then comes here.
        if (batch.length > 1 || !refusedCleanly(error)) throw error
        await recordOne(batch[0] as Recording)
      }
      return batch.map(() => undefined)
    },
  })

  return (recording) =>
    throughOutage((again) =>
      records.submit(recording).catch((error) => {
        if (!again || !uniqueViolation(error)) throw error
      }),
    )
}
