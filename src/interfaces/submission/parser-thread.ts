/** A thread that parses messages one after the other. The next one waits in the thread, so no time is lost between them. */
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { Failure } from '../ground/errors.ts'
import type { makeReader, ParsedMail } from './reader.ts'

/** The thread's program as text, because the bundle has no second file to start a thread from. */
const programOf = (reader: typeof makeReader): string => `
const { parentPort, workerData } = require('node:worker_threads')
const read = (${reader.toString()})(require(workerData.parser))
let last = Promise.resolve()
parentPort.on('message', (bytes) => {
  last = last.then(() => read(bytes)).then(
    (mail) => parentPort.postMessage(mail, mail.attachments.map(({ content }) => content.buffer)),
    () => parentPort.postMessage(undefined),
  )
})
`

/** A temporary error: a legitimate message takes this long only on an overloaded machine, so it may be retried. */
const tooSlow = (): Failure =>
  new Failure('RATE_LIMITED', { message: 'Reading the message takes too long. Try again later.' })

/** The thread ended because of an earlier message. This one can be parsed in another thread. */
export class ThreadEnded extends Error {}

export interface ParserThread {
  /** Resolves with undefined when the message cannot be parsed. */
  read(bytes: Buffer): Promise<ParsedMail | undefined>
  /** Whether it can parse a message at once. */
  isFree(): boolean
  close(): Promise<unknown>
}

type Pending = { resolve(mail: ParsedMail | undefined): void; reject(error: Error): void }

type Needs = { reader: typeof makeReader; deadlineMs: number }

export const startParserThread = async ({ reader, deadlineMs }: Needs): Promise<ParserThread> => {
  const worker = new Worker(programOf(reader), {
    eval: true,
    workerData: { parser: createRequire(import.meta.url).resolve('postal-mime') },
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  })
  // In the order in which the thread parses them.
  const pending: Pending[] = []
  let ended = false
  let deadline: NodeJS.Timeout | undefined

  /** Settles the message that the thread was parsing. The others have not been looked at. */
  const end = (settleFirst: (first: Pending) => void): void => {
    ended = true
    clearTimeout(deadline)
    const [first, ...others] = pending.splice(0)
    if (first) settleFirst(first)
    for (const { reject } of others) reject(new ThreadEnded('the thread ended because of another message'))
  }
  const watchFirst = (): void => {
    clearTimeout(deadline)
    if (pending.length === 0) return
    deadline = setTimeout(() => {
      // Not awaited: some loops of compiled code cannot be terminated.
      void worker.terminate()
      end(({ reject }) => reject(tooSlow()))
    }, deadlineMs)
  }

  worker.on('message', (mail: ParsedMail | undefined) => {
    pending.shift()?.resolve(mail)
    watchFirst()
  })
  // An error ends the thread.
  worker.on('error', () => undefined)
  worker.once('exit', () => end(({ resolve }) => resolve(undefined)))
  // The deadline of a message must not include the start of the thread.
  await new Promise((resolve) => worker.once('online', resolve).once('exit', resolve))
  // The thread must not keep a stopping process alive.
  worker.unref()

  return {
    read: (bytes) =>
      new Promise((resolve, reject) => {
        if (ended) return reject(tooSlow())
        pending.push({ resolve, reject })
        worker.postMessage(bytes)
        if (pending.length === 1) watchFirst()
      }),
    isFree: () => !ended && pending.length === 0,
    close: () => worker.terminate(),
  }
}
