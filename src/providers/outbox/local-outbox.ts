/** Stores the newest messages sent through the local providers, for developers and tests to read. */
import { makeStepBatcher } from '../../db/batch.ts'
import { insertWithRetry } from '../../db/outage.ts'
import type { Db } from '../../db/pool.ts'
import type { Channel } from '../../ground/channel.ts'
import { iso } from '../../ground/instant.ts'
import type { Log } from '../../ground/log.ts'
import { insertOutboxEntries, separator, trimOutbox } from './store.ts'

export type NewOutboxEntry = {
  id: string
  channel: Channel
  messageId: string | null
  verificationId: string | null
  /** The message that was sent. `recipients` are the addresses to filter by, in lower case. */
  mail: Record<string, unknown> & { recipients: string[] }
  at: Date
}

type SerializedEntry = Omit<NewOutboxEntry, 'mail'> & { mail: string }

export interface Outbox {
  /** Retries during a short database outage, so that the outage does not count as a failure of the provider. */
  add(entry: NewOutboxEntry): Promise<void>
  drained(): Promise<void>
}

const maxEntries = 10_000
const trimEvery = 2_000

/** Replaces NUL and lone surrogates, which cannot be read back as jsonb. Both are rare, so most values are serialized once. */
export const jsonText = (value: unknown): string => {
  const text = JSON.stringify(value)
  if (!/\\u(0000|d[89a-f])/i.test(text)) return text
  return JSON.stringify(value, (_, member) =>
    typeof member === 'string' ? member.toWellFormed().replaceAll('\0', '\ufffd') : member,
  )
}

type Needs = { db: Db; log: Log }

export const makeOutbox = ({ db, log }: Needs): Outbox => {
  let sinceTrim = 0
  let trimming: Promise<void> | undefined

  const trim = (): void => {
    trimming ??= db
      .change(trimOutbox, { keep: maxEntries })
      .then(
        () => undefined,
        (err) => log.warn({ err }, 'outbox trim failed'),
      )
      .finally(() => {
        trimming = undefined
      })
  }

  const batcher = makeStepBatcher<SerializedEntry, void>({
    name: 'outbox.keep',
    weight: ({ mail }) => mail.length,
    run: async (items) => {
      const column = (field: (entry: SerializedEntry) => string | null) => items.map(field).join(separator)
      await db.change(insertOutboxEntries, {
        ids: column((entry) => entry.id),
        channels: column((entry) => entry.channel),
        messageIds: column((entry) => entry.messageId),
        verificationIds: column((entry) => entry.verificationId),
        at: column((entry) => iso(entry.at)),
        mails: column((entry) => entry.mail),
      })
      sinceTrim += items.length
      if (sinceTrim >= trimEvery) {
        sinceTrim = 0
        trim()
      }
      return items.map(() => undefined)
    },
  })

  return {
    add: (entry) => {
      const serialized = { ...entry, mail: jsonText(entry.mail) }
      return insertWithRetry(() => batcher.submit(serialized))
    },
    drained: async () => {
      await batcher.drained()
      await trimming
    },
  }
}
