/**
 * Parses large JSON texts in a thread, so that the bytes of strangers do not delay other requests. The thread starts
 * with the first text and ends when there has been nothing to parse for a while.
 */
import { Worker } from 'node:worker_threads'
import { Failure } from '../../../platform/ground/errors.ts'

/** The thread's program as text, because the bundle has no second file to start a thread from. */
const program = `
const { parentPort } = require('node:worker_threads')
parentPort.on('message', (bytes) => {
  let parsed
  try {
    parsed = { value: JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) }
  } catch {}
  parentPort.postMessage(parsed)
})
`

/** Each waiting text has up to 10 MB. */
const defaultMaxWaiting = 8
const defaultIdleMs = 10_000

type Parsed = { value: unknown } | undefined

type Task = { bytes: Buffer; resolve: (parsed: Parsed) => void }

export const makeJsonThread = ({ maxWaiting = defaultMaxWaiting, idleMs = defaultIdleMs } = {}) => {
  const waiting: Task[] = []
  let worker: Worker | undefined
  let current: Task | undefined
  let idleTimer: NodeJS.Timeout | undefined

  const finish = (parsed: Parsed): void => {
    const task = current
    current = undefined
    task?.resolve(parsed)
    runNext()
  }

  const start = (): Worker => {
    const started = new Worker(program, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 256 } })
    // A text that ends the thread, for example by using up its memory, counts as invalid.
    started.on('error', () => undefined)
    started.on('message', finish)
    started.once('exit', () => {
      if (worker !== started) return
      worker = undefined
      finish(undefined)
    })
    started.unref()
    return started
  }

  const end = async (): Promise<void> => {
    const ended = worker
    worker = undefined
    await ended?.terminate()
  }

  const runNext = (): void => {
    if (current) return
    clearTimeout(idleTimer)
    current = waiting.shift()
    if (!current) {
      if (worker) idleTimer = setTimeout(end, idleMs).unref()
      return
    }
    worker ??= start()
    worker.postMessage(current.bytes)
  }

  return {
    /** Resolves with undefined if the text is not JSON. Rejects with UNAVAILABLE when too many texts are waiting. */
    parse: (bytes: Buffer): Promise<Parsed> =>
      new Promise((resolve, reject) => {
        if (waiting.length >= maxWaiting) {
          reject(new Failure('UNAVAILABLE', { message: 'Too many notifications are waiting.', retryAfter: 5 }))
          return
        }
        waiting.push({ bytes, resolve })
        runNext()
      }),
    isRunning: (): boolean => worker !== undefined,
    close: async (): Promise<void> => {
      clearTimeout(idleTimer)
      await end()
      for (const task of [current, ...waiting.splice(0)]) task?.resolve(undefined)
      current = undefined
    },
  }
}
