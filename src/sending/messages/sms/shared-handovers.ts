/**
 * Waits for the handovers of all processes to a number. Handovers cost nothing for this: only an opt-out asks.
 *
 * Each process listens on one channel and shows its presence there. After an opt-out is stored, its process asks the
 * others by NOTIFY. A process that is asked waits for the handovers that it has begun, and answers. Handovers that it
 * begins later see the suppression, because they check after the question.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { type Listener, listen } from '../../../platform/db/listen.ts'
import type { Db } from '../../../platform/db/pool.ts'
import { findListeners, notifyListeners } from '../../../platform/db/store.ts'
import type { Log } from '../../../platform/ground/log.ts'
import { longestWaitMs, orAfter, type SmsHandovers } from './sms-handovers.ts'

export const handoversChannel = 'sms_handovers'
/** The class of the advisory locks by which processes see each other. */
export const handoversPresence = 1_936_551_784
/** Until the question is repeated, for processes that have lost their connection or started since. */
const repeatMs = 1_000
/** A message is sent only to numbers, which are shorter. A notification has a bound of 8,000 bytes. */
const longestNumber = 100

const NoticeShape = z.union([
  z.object({ ask: z.string(), orgId: z.string(), to: z.string() }),
  z.object({ answer: z.string(), pid: z.int() }),
])

type Notice = z.output<typeof NoticeShape>

/** Another release, or anyone with access to the database, may send something else. */
const readNotice = (payload: string): Notice | undefined => {
  try {
    return NoticeShape.parse(JSON.parse(payload))
  } catch {
    return undefined
  }
}

type Needs = {
  db: Pick<Db, 'connect' | 'rows'>
  log: Log
  own: Pick<SmsHandovers, 'settled'>
  /** For tests. */
  waitMs?: number
}

export const makeSharedHandovers = ({ db, log, own, waitMs = longestWaitMs }: Needs) => {
  let listener: Listener | undefined
  /** Own questions, each with the processes that have answered and a function that is called for each answer. */
  const asked = new Map<string, { answered: Set<number>; onAnswer: () => void }>()
  /** Questions of others that this process is about to answer. */
  const answering = new Set<string>()

  const notify = (notice: Notice) =>
    db.rows(notifyListeners, { channel: handoversChannel, payload: JSON.stringify(notice) })

  const answer = async ({ ask, orgId, to }: Extract<Notice, { ask: string }>): Promise<void> => {
    if (asked.has(ask) || answering.has(ask)) return
    answering.add(ask)
    try {
      await own.settled(orgId, to)
      const pid = listener?.pid()
      if (pid !== undefined) await notify({ answer: ask, pid })
    } catch (error) {
      // The question comes again.
      log.warn({ err: error }, 'answering about sms handovers failed')
    } finally {
      answering.delete(ask)
    }
  }

  const onMessage = (payload: string): void => {
    const notice = readNotice(payload)
    if (!notice) return
    if ('ask' in notice) return void answer(notice)
    const question = asked.get(notice.answer)
    question?.answered.add(notice.pid)
    question?.onAnswer()
  }

  const othersOf = async (): Promise<number[]> => {
    const rows = await db.rows(findListeners, { presence: handoversPresence })
    return rows.map(({ pid }) => pid).filter((pid) => pid !== listener?.pid())
  }

  /** Resolves when all have answered, or when it is time to ask again. */
  const answersOf = async (ask: string, others: readonly number[], withinMs: number): Promise<boolean> => {
    const { answered } = asked.get(ask) ?? { answered: new Set() }
    const isAnswered = () => others.every((pid) => answered.has(pid))
    const all = Promise.withResolvers<void>()
    const onAnswer = () => isAnswered() && all.resolve()
    asked.set(ask, { answered, onAnswer })
    onAnswer()
    await orAfter(withinMs, all.promise)
    return isAnswered()
  }

  const settledElsewhere = async (orgId: string, to: string): Promise<void> => {
    if (to.length > longestNumber) return
    const [ask, began] = [randomUUID(), performance.now()]
    asked.set(ask, { answered: new Set(), onAnswer: () => undefined })
    try {
      for (;;) {
        const others = await othersOf()
        if (others.every((pid) => asked.get(ask)?.answered.has(pid))) return
        const left = waitMs - (performance.now() - began)
        if (left <= 0 || !listener?.healthy()) {
          log.warn({ org_id: orgId }, 'opt-out acknowledged without the answer of another process')
          return
        }
        await notify({ ask, orgId, to })
        if (await answersOf(ask, others, Math.min(repeatMs, left))) return
      }
    } finally {
      asked.delete(ask)
    }
  }

  return {
    start: async (): Promise<void> => {
      listener ??= await listen({
        connect: db.connect,
        log,
        channel: handoversChannel,
        presence: handoversPresence,
        onMessage,
        onGap: () => undefined,
      })
    },
    /** Resolves when the handovers of all processes to the number that have begun are over, or after ten seconds. */
    settled: async (orgId: string, to: string): Promise<void> => {
      await Promise.all([own.settled(orgId, to), settledElsewhere(orgId, to)])
    },
    close: async (): Promise<void> => {
      await listener?.close()
    },
  }
}

export type SharedHandovers = ReturnType<typeof makeSharedHandovers>
