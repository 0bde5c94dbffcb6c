/**
 * Verifies SAML responses in a thread. The time that the library takes grows with the square of the number of elements,
 * and would block every other request in this process. The thread starts with the first response and ends when there
 * has been nothing to verify for a while.
 */
import { Worker } from 'node:worker_threads'
import { Failure } from '../../../platform/ground/errors.ts'
import { ResponseFault } from './response-structure.ts'
import type { Acceptable, VerifiedPerson } from './verify-response.ts'

export type ResponseToVerify = { samlResponse: string; certificates: string[]; expected: Acceptable }

/** What the thread sends: that it is ready, and then one verdict for each response. */
export type ThreadMessage = 'ready' | { person: VerifiedPerson } | { refused: string }

/** A file of its own next to the bundle (scripts/build.js), and next to this file when the sources run. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'mjs'
const program = new URL(`./verify-in-thread.${extension}`, import.meta.url)

const defaults = {
  program,
  /** Strangers can fill the queue of an org, and must leave space for the others. */
  maxWaiting: 32,
  maxWaitingOfOrg: 8,
  /** The limits of a response keep it below 2 s on an idle machine. */
  deadlineMs: 10_000,
  idleMs: 60_000,
}

type Task = {
  orgId: string
  response: ResponseToVerify
  resolve(person: VerifiedPerson): void
  reject(error: Error): void
}

const settle = (task: Task | undefined, verdict: Exclude<ThreadMessage, 'ready'>): void => {
  if ('person' in verdict) task?.resolve(verdict.person)
  else task?.reject(new ResponseFault(verdict.refused))
}

/** The first response of another org than the last one, so that orgs take turns. */
const takeNext = (waiting: Task[], lastOrgId: string | undefined): Task | undefined => {
  const other = waiting.findIndex(({ orgId }) => orgId !== lastOrgId)
  return waiting.splice(Math.max(other, 0), 1)[0]
}

type ThreadEvents = {
  onReady(): void
  onVerdict(verdict: Exclude<ThreadMessage, 'ready'>): void
  /** `error` is undefined if the thread was ready, so that the response ended it. */
  onExit(error: Error | undefined): void
}

const startThread = (file: URL, { onReady, onVerdict, onExit }: ThreadEvents): Worker => {
  const thread = new Worker(file, { env: {}, resourceLimits: { maxOldGenerationSizeMb: 256 } })
  let startFault: Error | undefined = new Error('the thread that verifies SAML responses ended while it started')
  thread.on('message', (message: ThreadMessage) => {
    if (message !== 'ready') return onVerdict(message)
    startFault = undefined
    onReady()
  })
  thread.on('error', (error) => {
    if (startFault) startFault.cause = error
  })
  thread.once('exit', () => onExit(startFault))
  // The thread must not keep a stopping process alive.
  thread.unref()
  return thread
}

export const makeResponseVerifier = (options: Partial<typeof defaults> = {}) => {
  const { maxWaiting, maxWaitingOfOrg, deadlineMs, idleMs, program: file } = { ...defaults, ...options }
  const waiting: Task[] = []
  let thread: Worker | undefined
  let ready = false
  let current: Task | undefined
  let lastOrgId: string | undefined
  let timer: NodeJS.Timeout | undefined

  const endThread = async (): Promise<void> => {
    const ended = thread
    thread = undefined
    ready = false
    await ended?.terminate()
  }

  const finish = (settleTask: (task: Task | undefined) => void): void => {
    clearTimeout(timer)
    const task = current
    current = undefined
    settleTask(task)
    runNext()
  }

  /** The deadline does not include the start of the thread. */
  const sendCurrent = (): void => {
    if (!current || !ready) return
    thread?.postMessage(current.response)
    timer = setTimeout(() => {
      // Not awaited: some loops of compiled code cannot be terminated.
      void endThread()
      finish((task) => settle(task, { refused: 'takes too long' }))
    }, deadlineMs)
  }

  const start = (): Worker => {
    const started = startThread(file, {
      onReady: () => {
        if (thread !== started) return
        ready = true
        sendCurrent()
      },
      onVerdict: (verdict) => {
        if (thread === started) finish((task) => settle(task, verdict))
      },
      onExit: (error) => {
        if (thread !== started) return
        thread = undefined
        ready = false
        finish((task) => (error ? task?.reject(error) : settle(task, { refused: 'needs too much memory' })))
      },
    })
    return started
  }

  const runNext = (): void => {
    if (current) return
    clearTimeout(timer)
    current = takeNext(waiting, lastOrgId)
    lastOrgId = current?.orgId
    if (!current) {
      if (thread) timer = setTimeout(endThread, idleMs).unref()
      return
    }
    thread ??= start()
    sendCurrent()
  }

  const isFull = (orgId: string): boolean =>
    waiting.length >= maxWaiting || waiting.filter((task) => task.orgId === orgId).length >= maxWaitingOfOrg

  return {
    /** Rejects with ResponseFault, or with UNAVAILABLE when too many responses are waiting. */
    verify: (orgId: string, response: ResponseToVerify) =>
      new Promise<VerifiedPerson>((resolve, reject) => {
        if (isFull(orgId)) {
          reject(new Failure('UNAVAILABLE', { message: 'Too many sign-ins are waiting.', retryAfter: 5 }))
          return
        }
        waiting.push({ orgId, response, resolve, reject })
        runNext()
      }),
    isRunning: () => thread !== undefined,
    close: async () => {
      clearTimeout(timer)
      const abandoned = [current, ...waiting.splice(0)]
      current = undefined
      for (const task of abandoned) settle(task, { refused: 'the service is stopping' })
      await endThread()
    },
  }
}

export type ResponseVerifier = ReturnType<typeof makeResponseVerifier>
