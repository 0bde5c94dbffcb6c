/**
 * Stores the newest messages sent through the local providers, for developers and tests to read. Sends do not wait for
 * it: entries are written together shortly after, and a process that is killed loses those it has not written.
 */
import { makeStepBatcher } from '../../platform/db/batch.ts'
import { insertWithRetry } from '../../platform/db/outage.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import { startSlices } from '../../platform/ground/event-loop-turns.ts'
import { iso } from '../../platform/ground/instant.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
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

/** The id of the message, or of the verification whose code it has. */
export const idsOf = ({ messageId: id, hasCode }: { messageId: string; hasCode?: boolean | undefined }) =>
  hasCode ? { messageId: null, verificationId: id } : { messageId: id, verificationId: null }

type SerializedEntry = Omit<NewOutboxEntry, 'mail'> & { mail: string }

const maxEntries = 10_000
const maxCodes = 1_000
const trimEvery = 2_000
/** How long an entry waits for others before it is written. */
const collectMs = 20
/** This many entries are written at once without waiting for more. */
const collectEntries = 100
/** Limits of what is not yet written. Beyond them, sends wait. */
const maxUnwritten = 1_000
const maxUnwrittenCharacters = 16_000_000

/** Replaces NUL and lone surrogates, which cannot be read back as jsonb. Both are rare, so most values are serialized once. */
export const jsonText = (value: unknown): string => {
  const text = JSON.stringify(value)
  if (!text.includes('\\u') || !/\\u(0000|d[89a-f])/i.test(text)) return text
  return JSON.stringify(value, (_, member) =>
    typeof member === 'string' ? member.toWellFormed().replaceAll('\0', '\ufffd') : member,
  )
}

const largeCharacters = 100_000

const isLarge = ({ mail }: NewOutboxEntry): boolean => {
  let characters = 0
  for (const value of Object.values(mail)) if (typeof value === 'string') characters += value.length
  return characters > largeCharacters
}

type Needs = { db: Db; log: Log }

export const makeOutbox = ({ db, log }: Needs) => {
  const codes = new Set<NewOutboxEntry>()
  let sinceTrim = 0
  let trimming: Promise<unknown> | undefined

  const trim = (): void => {
    trimming ??= db
      .change(trimOutbox, { keep: maxEntries })
      .catch((err) => log.warn({ err }, 'outbox trim failed'))
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
        id: column((entry) => entry.id),
        channel: column((entry) => entry.channel),
        messageId: column((entry) => entry.messageId),
        verificationId: column((entry) => entry.verificationId),
        at: column((entry) => iso(entry.at)),
        mail: column((entry) => entry.mail),
      })
      sinceTrim += items.length
      if (sinceTrim >= trimEvery) {
        sinceTrim = 0
        trim()
      }
      return items.map(() => undefined)
    },
  })

  let collected: SerializedEntry[] = []
  let timer: NodeJS.Timeout | undefined
  let unwritten = 0
  let unwrittenCharacters = 0
  const writing = new Set<Promise<void>>()

  const write = async (entries: SerializedEntry[]): Promise<void> => {
    const writes = entries.map((entry) => insertWithRetry(() => batcher.submit(entry)))
    for (const [i, result] of (await Promise.allSettled(writes)).entries()) {
      const { messageId, mail } = entries[i] as SerializedEntry
      unwritten--
      unwrittenCharacters -= mail.length
      if (result.status === 'rejected') log.warn({ err: result.reason, message_id: messageId }, 'outbox entry lost')
    }
  }

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (collected.length === 0) return
    const entries = collected
    collected = []
    const written = write(entries).finally(() => writing.delete(written))
    writing.add(written)
  }

  const isFull = (): boolean => unwritten >= maxUnwritten || unwrittenCharacters >= maxUnwrittenCharacters

  const collect = (entry: NewOutboxEntry): void => {
    const serialized = { ...entry, mail: jsonText(entry.mail) }
    unwritten++
    unwrittenCharacters += serialized.mail.length
    collected.push(serialized)
    if (collected.length >= collectEntries) flush()
    else timer ??= setTimeout(flush, collectMs)
  }

  /** The space is checked again in the same step that uses it, so that waiting calls do not all pass together. */
  const collectWithSpace = async (entry: NewOutboxEntry): Promise<void> => {
    // The items of a batch arrive in one turn of the event loop. Large ones are serialized in turns of their own.
    if (isLarge(entry)) await startSlices().next()
    while (isFull()) {
      flush()
      await Promise.race(writing)
    }
    collect(entry)
  }

  /** Resolves when every entry that was added before is written. */
  const flushed = async (): Promise<void> => {
    flush()
    await Promise.all(writing)
  }

  const keepInMemory = (entry: NewOutboxEntry): void => {
    codes.add(entry)
    for (const oldest of codes) {
      if (codes.size <= maxCodes) return
      codes.delete(oldest)
    }
  }

  return {
    /**
     * Waits only while too many entries are unwritten. An entry that cannot be written is logged. The entry of a one-time
     * code, which has a `verificationId`, stays in the memory of this process: the code must never be stored.
     */
    add: (entry: NewOutboxEntry): MaybePromise<void> => {
      if (entry.verificationId !== null) return keepInMemory(entry)
      return isFull() || isLarge(entry) ? collectWithSpace(entry) : collect(entry)
    },
    /** The entries of the newest one-time codes, oldest first. */
    codes: (): readonly NewOutboxEntry[] => [...codes],
    flushed,
    /** Also waits for the trim. */
    drained: async (): Promise<void> => {
      await flushed()
      await trimming
    },
  }
}

export type Outbox = ReturnType<typeof makeOutbox>
