/** Keeps what the local providers were handed, the newest of it, so that people and tests can look. */

import { makeStepBatcher } from '../../db/batch.ts'
import { writtenThroughOutage } from '../../db/outage.ts'
import type { Db } from '../../db/pool.ts'
import type { Channel } from '../../ground/channel.ts'
import { iso } from '../../ground/instant.ts'
import type { Log } from '../../ground/log.ts'
import { between, insertKept, trimKept } from './store.ts'

export type Kept = {
  id: string
  channel: Channel
  messageId: string | null
  verificationId: string | null
  /** As handed over; `recipients` are what a reader can ask for, in lower case. */
  mail: Record<string, unknown> & { recipients: string[] }
  at: Date
}

type Written = Omit<Kept, 'mail'> & { mail: string }

export interface Outbox {
  /** Waits for a database that is away for a moment: it is no reason to take the provider for broken. */
  keep(kept: Kept): Promise<void>
  drained(): Promise<void>
}

const newest = 10_000
const trimEvery = 2_000

/** Neither a NUL nor half a character can be read back; both are rare, so the text is written again only then. */
export const jsonText = (value: unknown): string => {
  const text = JSON.stringify(value)
  if (!/\\u(0000|d[89a-f])/i.test(text)) return text
  return JSON.stringify(value, (_, held) =>
    typeof held === 'string' ? held.toWellFormed().replaceAll('\0', '\ufffd') : held,
  )
}

type Needs = { db: Db; log: Log }

export const makeOutbox = ({ db, log }: Needs): Outbox => {
  let sinceTrim = 0
  let trimming: Promise<void> | undefined

  const trim = (): void => {
    trimming ??= db
      .change(trimKept, { kept: newest })
      .then(
        () => undefined,
        (err) => log.warn({ err }, 'the outbox could not be trimmed'),
      )
      .finally(() => {
        trimming = undefined
      })
  }

  const batcher = makeStepBatcher<Written, void>({
    name: 'outbox.keep',
    weight: ({ mail }) => mail.length,
    run: async (items) => {
      const column = (of: (kept: Written) => string | null) => items.map(of).join(between)
      await db.change(insertKept, {
        ids: column((kept) => kept.id),
        channels: column((kept) => kept.channel),
        messageIds: column((kept) => kept.messageId),
        verificationIds: column((kept) => kept.verificationId),
        at: column((kept) => iso(kept.at)),
        mails: column((kept) => kept.mail),
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
    keep: (kept) => {
      const { id, channel, messageId, verificationId, at } = kept
      const written = { id, channel, messageId, verificationId, at, mail: jsonText(kept.mail) }
      return writtenThroughOutage(() => batcher.submit(written))
    },
    drained: async () => {
      await batcher.drained()
      await trimming
    },
  }
}
