/** One child process, as the primary sees it. */
import cluster from 'node:cluster'
import type { Log } from '../ground/log.ts'
import type { StopOrder } from './peers.ts'
import { openWire } from './process-wire.ts'

export type ProcessRole = 'api' | 'worker'

/** The variable by which a child process knows its name. */
export const nameVariable = 'TIDINGS_PROCESS'

export const startProcess = (role: ProcessRole, name: string, log: Log) => {
  const worker = cluster.fork({ [nameVariable]: name })
  const pid = worker.process.pid ?? 0
  const running = Promise.withResolvers<true | undefined>()
  const ended = Promise.withResolvers<{ code: number | null; signal: string | null }>()
  let serves = false
  let port: number | undefined
  const wire = openWire({
    send: (message) => {
      // The callback takes the error of a channel that closes at this moment. The exit is reported below.
      if (worker.isConnected()) worker.process.send(message, undefined, undefined, () => undefined)
    },
    onMessage: (listener) => void worker.process.on('message', listener),
  })
  wire.on('running', (bound: number | undefined) => {
    serves = true
    port = bound
    running.resolve(true)
  })
  worker.on('error', (err) => log.error({ err, name }, 'process could not be reached'))
  worker.process.once('exit', (code, signal) => {
    serves = false
    wire.close()
    running.resolve(undefined)
    ended.resolve({ code, signal })
  })
  return {
    role,
    /** Such as `api-1`. It is in every log line of the process. */
    name,
    pid,
    wire,
    /** Resolves when the process serves; with `undefined` if it ends before. */
    running: running.promise,
    /** The port that an API process has bound. */
    port: (): number | undefined => port,
    isRunning: (): boolean => serves,
    ended: ended.promise,
    order: (order: StopOrder): void => wire.notify('order', order),
    kill: () => void worker.process.kill('SIGKILL'),
  }
}

export type ServedProcess = ReturnType<typeof startProcess>
