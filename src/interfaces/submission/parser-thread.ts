/** A thread that parses messages one after the other. The next one waits in the thread, so no time is lost between them. */
import { Worker } from 'node:worker_threads'
import { Failure } from '../../platform/ground/errors.ts'
import type { ParsedMail } from './parsed-mail.ts'

/** A file of its own next to the bundle (scripts/build.js), and next to this file when the sources run. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'mjs'
export const parserProgram = new URL(`./parse-in-thread.${extension}`, import.meta.url)

/** A temporary error: a legitimate message takes this long only on an overloaded machine, so it may be retried. */
const tooSlow = (): Failure =>
  new Failure('RATE_LIMITED', { message: 'Reading the message takes too long. Try again later.' })

/** The thread ended because of an earlier message. This one can be parsed in another thread. */
export class ThreadEndedFault extends Error {}

type Pending = { resolve(mail: ParsedMail | undefined): void; reject(error: Error): void }

export const startParserThread = async ({ program, deadlineMs }: { program: URL; deadlineMs: number }) => {
  const worker = new Worker(program, { env: {}, resourceLimits: { maxOldGenerationSizeMb: 512 } })
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
    for (const { reject } of others) reject(new ThreadEndedFault('the thread ended because of another message'))
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

  // An error ends the thread.
  worker.on('error', () => undefined)
  worker.once('exit', () => end(({ resolve }) => resolve(undefined)))
  // The deadline of a message must not include the start of the thread, which says when it is ready.
  await new Promise((resolve) => worker.once('message', resolve).once('exit', resolve))
  worker.on('message', (mail: ParsedMail | undefined) => {
    pending.shift()?.resolve(mail)
    watchFirst()
  })
  // The thread must not keep a stopping process alive.
  worker.unref()

  return {
    /** Resolves with undefined when the message cannot be parsed. */
    read: (bytes: Buffer) =>
      new Promise<ParsedMail | undefined>((resolve, reject) => {
        if (ended) return reject(tooSlow())
        pending.push({ resolve, reject })
        worker.postMessage(bytes)
        if (pending.length === 1) watchFirst()
      }),
    /** Whether it can parse a message at once. */
    isFree: () => !ended && pending.length === 0,
    close: () => worker.terminate(),
  }
}

export type ParserThread = Awaited<ReturnType<typeof startParserThread>>
