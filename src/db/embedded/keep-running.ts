/** Watches the server and brings it back, on the same port, when it dies under a running service. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../../ground/log.ts'
import type { Postmaster } from './postmaster.ts'

const lookEveryMs = 100
const attempts = 5
const firstPauseMs = 100
/** A server that comes back only to die again and again is as lost as one that does not come back. */
const losses = { most: 5, withinMs: 60_000 }

type Needs = {
  first: Postmaster
  relaunch: (port: number) => Promise<Postmaster>
  lastWords: () => Promise<string>
  log: Log
  onLost: () => void
}

export type Watch = {
  /** Ends the watch, after a restart under way; answers the server that then runs. */
  end(): Promise<Postmaster>
}

export const keepRunning = ({ first, relaunch, lastWords, log, onLost }: Needs): Watch => {
  const ending = new AbortController()
  let current = first
  const lostAt: number[] = []

  const rest = (ms: number, ref: boolean) => wait(ms, undefined, { ref, signal: ending.signal }).catch(() => undefined)

  const untilLost = async () => {
    while (!ending.signal.aborted && (await current.alive())) {
      // The watch alone must not keep the process from ending.
      await rest(lookEveryMs, false)
    }
  }

  const dyingTooOften = () => {
    const now = performance.now()
    lostAt.push(now)
    return lostAt.filter((at) => at > now - losses.withinMs).length > losses.most
  }

  const bringBack = async (): Promise<boolean> => {
    for (let attempt = 0; attempt < attempts && !ending.signal.aborted; attempt++) {
      await rest(attempt === 0 ? 0 : firstPauseMs * 2 ** attempt, true)
      if (ending.signal.aborted) break
      try {
        current = await relaunch(current.port)
        return true
      } catch (error) {
        log.error({ err: error, attempt: attempt + 1 }, 'the embedded database could not be restarted')
      }
    }
    return false
  }

  const watch = async () => {
    for (;;) {
      await untilLost()
      if (ending.signal.aborted) return
      log.error({ pid: current.pid, last_words: await lastWords().catch(() => '') }, 'the embedded database died')
      const back = !dyingTooOften() && (await bringBack())
      if (ending.signal.aborted) return
      if (!back) {
        log.fatal('the embedded database is lost')
        onLost()
        return
      }
      log.warn({ pid: current.pid }, 'the embedded database runs again')
    }
  }

  const watching = watch()
  return {
    end: async () => {
      ending.abort()
      await watching
      return current
    },
  }
}
