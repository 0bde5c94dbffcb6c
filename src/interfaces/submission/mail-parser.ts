/**
 * Parses messages in worker threads: ten hostile megabytes keep a parser busy for seconds, and would block every other
 * request in this process. A message that takes too long is ended with its thread, and delays only mail of its org.
 */
import { type Failure, malformed } from '../../platform/ground/errors.ts'
import { makeFairQueue, type QueueTurn } from './fair-queue.ts'
import type { ParsedMail } from './parsed-mail.ts'
import { type ParserThread, parserProgram, startParserThread, ThreadEndedFault } from './parser-thread.ts'

/** More lines than a legitimate message of 10 MB has. Parsing time grows with lines more than with bytes. */
const maxLines = 200_000
/** Far longer than a legitimate message of 10 MB takes. */
const defaultDeadlineMs = 3_000
/** While one thread is stuck with a hostile message, the other serves the rest. */
const threads = 2
/**
 * Enough for the connections of a busy mail server, and few enough to fit in memory. Small messages of an org share a
 * turn, because handing a message to a thread and back costs more than parsing it. So many bytes are parsed at once, even
 * if they are hostile.
 */
const queueLimits = {
  concurrency: threads,
  waitingPerLane: 50,
  waiting: 150,
  tasksPerTurn: 32,
  weightPerTurn: 64 * 1_024,
}

const countLines = (bytes: Buffer): number => {
  let lines = 0
  for (let at = bytes.indexOf(10); at >= 0 && lines <= maxLines; at = bytes.indexOf(10, at + 1)) lines++
  return lines
}

const unreadable = (): Failure => malformed('The message is not valid MIME.')

/** The org that sent the message, and a signal that fires when its client disconnects. */
type MessageSource = { orgId: string; gone?: AbortSignal }

export const makeMailParser = ({ deadlineMs = defaultDeadlineMs, program = parserProgram } = {}) => {
  const queue = makeFairQueue(queueLimits)
  const idle = new Set<ParserThread>()
  const threadOfTurn = new WeakMap<QueueTurn, Promise<ParserThread>>()

  const takeThread = async (): Promise<ParserThread> => {
    for (const thread of idle) {
      idle.delete(thread)
      if (thread.isFree()) return thread
    }
    return startParserThread({ program, deadlineMs })
  }

  const readIn = async (turn: QueueTurn, bytes: Buffer): Promise<ParsedMail | undefined> => {
    const taken = threadOfTurn.get(turn) ?? takeThread()
    threadOfTurn.set(turn, taken)
    const thread = await taken
    return thread.read(bytes).finally(() => {
      if (thread.isFree()) idle.add(thread)
    })
  }

  return {
    parse: async (bytes: Buffer, { orgId, gone }: MessageSource): Promise<ParsedMail> => {
      if (countLines(bytes) > maxLines) throw malformed(`The message must have at most ${maxLines} lines.`)
      for (;;) {
        try {
          const task = (turn: QueueTurn) => readIn(turn, bytes)
          const mail = await queue.run(orgId, task, { gone, weight: bytes.length })
          if (!mail) throw unreadable()
          return mail
        } catch (error) {
          if (!(error instanceof ThreadEndedFault)) throw error
        }
      }
    },
    close: async (): Promise<void> => {
      await queue.idle()
      await Promise.all([...idle].map((thread) => thread.close()))
    },
  }
}

export type MailParser = ReturnType<typeof makeMailParser>
