/** Controls the load generator, a separate process that makes one measurement at a time. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RequestShape } from './wire.ts'

export type LoadJob = {
  /** Always on loopback. */
  port: number
  request: RequestShape
  clients: number
  /** Duration of the same load before the measured time; it is not counted. */
  warmMs: number
  measureMs: number
}

export type LoadResult = {
  requests: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** CPU time of the generator itself in the measured time, as a share of one core. */
  cpuShare: number
}

/** The reply of the load generator's process. */
export type LoadAnswer = { done: LoadResult } | { failed: string }

export type Load = {
  /** Rejects if a response was not 2xx, a connection broke, or no response arrived. */
  run(job: LoadJob): Promise<LoadResult>
  stop(): Promise<void>
}

export const startLoad = (): Load => {
  const child = fork(fileURLToPath(new URL('load-process.ts', import.meta.url)), {
    execPath: process.execPath,
    execArgv: [],
    stdio: ['ignore', 2, 2, 'ipc'],
  })
  const exited = once(child, 'exit')
  let busy = false
  return {
    async run(job) {
      if (busy) throw new Error('the load generator measures one contender at a time')
      busy = true
      try {
        const answer = await new Promise<LoadAnswer>((resolve, reject) => {
          const settle = (finish: () => void) => {
            child.off('message', onMessage).off('exit', onExit)
            finish()
          }
          const onMessage = (message: LoadAnswer) => settle(() => resolve(message))
          const onExit = () => settle(() => reject(new Error('the load generator exited unexpectedly')))
          child.on('message', onMessage).on('exit', onExit)
          child.send(job, (error) => error && settle(() => reject(error)))
        })
        if ('failed' in answer) throw new Error(answer.failed)
        return answer.done
      } finally {
        busy = false
      }
    },
    async stop() {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
