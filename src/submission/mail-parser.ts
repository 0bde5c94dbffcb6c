/**
 * Parses messages in worker threads: ten hostile megabytes keep a parser busy for seconds, and would block every other
 * request in this process. A message that takes too long is ended with its thread, and delays only mail of its org.
 */
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { Failure, malformed } from '../ground/errors.ts'
import { makeFairQueue } from './fair-queue.ts'
import { makeReader, type ParsedMail } from './reader.ts'

/** More lines than a legitimate message of 10 MB has. Parsing time grows with lines more than with bytes. */
const maxLines = 200_000
/** Far longer than a legitimate message of 10 MB takes. */
const defaultDeadlineMs = 3_000
/** While one thread is stuck with a hostile message, the other serves the rest. */
const threads = 2
/** Enough for the connections of a busy mail server, and few enough to fit in memory. */
const queueLimits = { concurrency: threads, waitingPerLane: 50, waiting: 150 }

/** The thread's program as text, because the bundle has no second file to start a thread from. */
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

const unreadable = (): Failure => malformed('The message is not valid MIME.')
/** A temporary error: a legitimate message takes this long only on an overloaded machine, so it may be retried. */
const tooSlow = (): Failure =>
  new Failure('RATE_LIMITED', { message: 'Reading the message takes too long. Try again later.' })

/** The org that sent the message, and a signal that fires when its client disconnects. */
export type MessageSource = { orgId: string; gone?: AbortSignal }

export interface MailParser {
  parse(bytes: Buffer, source: MessageSource): Promise<ParsedMail>
  close(): Promise<void>
}

export const makeMailParser = ({ deadlineMs = defaultDeadlineMs, reader = makeReader } = {}): MailParser => {
  const parser = createRequire(import.meta.url).resolve('postal-mime')
  const program = programOf(reader)
  const queue = makeFairQueue(queueLimits)
  const idle = new Set<Worker>()

  const start = async (): Promise<Worker> => {
    const started = new Worker(program, {
      eval: true,
      workerData: { parser },
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    })
    // The message that the thread was parsing is rejected by the `exit` listener in `readIn`.
    started.on('error', () => undefined)
    started.once('exit', () => idle.delete(started))
    // The deadline of a message must not include the start of the thread.
    await new Promise((resolve) => started.once('online', resolve).once('exit', resolve))
    // The thread must not keep a stopping process alive.
    started.unref()
    return started
  }

  /** Resolves with undefined when the message cannot be parsed. */
  const readIn = (worker: Worker, bytes: Buffer): Promise<ParsedMail | undefined> =>
    new Promise((resolve, reject) => {
      const settle = (end: () => void): void => {
        clearTimeout(deadline)
        worker.off('message', onMessage)
        worker.off('exit', onExit)
        end()
      }
      const onMessage = (mail: ParsedMail | undefined): void => settle(() => resolve(mail))
      const onExit = (): void => settle(() => resolve(undefined))
      const deadline = setTimeout(() => {
        // Not awaited: some loops of compiled code cannot be terminated.
        void worker.terminate()
        settle(() => reject(tooSlow()))
      }, deadlineMs)
      worker.on('message', onMessage)
      worker.on('exit', onExit)
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
      if (countLines(bytes) > maxLines) throw malformed(`The message must have at most ${maxLines} lines.`)
      return queue.run(orgId, () => parseNow(bytes), gone)
    },
    close: async () => {
      await queue.idle()
      await Promise.all([...idle].map((worker) => worker.terminate()))
    },
  }
}
