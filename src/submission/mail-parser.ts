/**
 * Takes messages apart in threads of their own: ten hostile megabytes keep a reader busy for seconds, during which
 * nothing else here would be answered. Whoever takes too long is ended with the thread, and delays only mail of the
 * same org.
 */
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { Failure, malformed } from '../ground/errors.ts'
import { makeFairQueue } from './fair-queue.ts'
import { makeReader, type ParsedMail } from './reader.ts'

/** More than ten megabytes of any honest encoding; the reader's work grows with lines more than with bytes. */
const maxLines = 200_000
/** Far longer than ten honest megabytes take. */
const defaultDeadlineMs = 3_000
/** While one reads what never ends, the other reads for the rest. */
const threads = 2
/** As many as a busy mail server opens connections, and few enough to be held in memory. */
const bounds = { atOnce: threads, waitingPerLane: 50, waiting: 150 }

/** Handed over as text, since a bundle has no second file to start a thread from. */
const programOf = (reader: typeof makeReader): string => `
const { parentPort, workerData } = require('node:worker_threads')
const read = (${reader.toString()})(require(workerData.parser))
parentPort.on('message', (bytes) => {
  read(bytes).then(
    (mail) => parentPort.postMessage(mail, mail.attachments.map(({ content }) => content.buffer)),
    () => parentPort.postMessage(undefined),
  )
})
`

const countLines = (bytes: Buffer): number => {
  let lines = 0
  for (let at = bytes.indexOf(10); at >= 0 && lines <= maxLines; at = bytes.indexOf(10, at + 1)) lines++
  return lines
}

const unreadable = (): Failure => malformed('The message cannot be read as MIME.')
/** Mail that is honest meets it only where this machine has too much to do, and so may come again. */
const tooSlow = (): Failure =>
  new Failure('RATE_LIMITED', { message: 'The message takes too long to read. Try again later.' })

/** Whose message it is, and how to know that nobody waits for its answer any more. */
export type ParsedUpload = { orgId: string; gone?: AbortSignal }

export interface MailParser {
  parse(bytes: Buffer, by: ParsedUpload): Promise<ParsedMail>
  close(): Promise<void>
}

export const makeMailParser = ({ deadlineMs = defaultDeadlineMs, reader = makeReader } = {}): MailParser => {
  const parser = createRequire(import.meta.url).resolve('postal-mime')
  const program = programOf(reader)
  const turns = makeFairQueue(bounds)
  const idle = new Set<Worker>()

  const start = async (): Promise<Worker> => {
    const started = new Worker(program, {
      eval: true,
      workerData: { parser },
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    })
    // What it dies of is told to the message it had.
    started.on('error', () => undefined)
    started.once('exit', () => idle.delete(started))
    // How long it takes to begin is not the message's fault.
    await new Promise((resolve) => started.once('online', resolve).once('exit', resolve))
    // A stopped service does not wait for it.
    started.unref()
    return started
  }

  /** Undefined when it cannot be read. */
  const readIn = (worker: Worker, bytes: Buffer): Promise<ParsedMail | undefined> =>
    new Promise((resolve, reject) => {
      const settle = (end: () => void): void => {
        clearTimeout(deadline)
        worker.off('message', answered)
        worker.off('exit', died)
        end()
      }
      const answered = (mail: ParsedMail | undefined): void => settle(() => resolve(mail))
      const died = (): void => settle(() => resolve(undefined))
      const deadline = setTimeout(() => {
        // Not waited for: some loops of compiled code do not let themselves be ended.
        void worker.terminate()
        settle(() => reject(tooSlow()))
      }, deadlineMs)
      worker.on('message', answered)
      worker.on('exit', died)
      worker.postMessage(bytes)
    })

  const parseNow = async (bytes: Buffer): Promise<ParsedMail> => {
    const [free] = idle
    const worker = free ?? (await start())
    idle.delete(worker)
    const mail = await readIn(worker, bytes)
    if (worker.threadId > 0) idle.add(worker)
    if (!mail) throw unreadable()
    return mail
  }

  return {
    parse: async (bytes, { orgId, gone }) => {
      if (countLines(bytes) > maxLines) throw malformed(`Takes a message of at most ${maxLines} lines.`)
      return turns.take(orgId, () => parseNow(bytes), gone)
    },
    close: async () => {
      await turns.idle()
      await Promise.all([...idle].map((worker) => worker.terminate()))
    },
  }
}
