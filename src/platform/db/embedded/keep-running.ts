/** Watches the server and restarts it on the same port when it dies. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../../ground/log.ts'
import type { Postmaster } from './postmaster.ts'

const checkEveryMs = 100
const maxAttempts = 5
const firstPauseMs = 100
/** A server that dies more often than this is abandoned, like one that does not restart. */
const deathLimit = { max: 5, withinMs: 60_000 }

type Needs = {
  first: Postmaster
  relaunch: (port: number) => Promise<Postmaster>
  lastLogLines: () => Promise<string>
  log: Log
  onLost: () => void
}

export const keepRunning = ({ first, relaunch, lastLogLines, log, onLost }: Needs) => {
  const ending = new AbortController()
  let current = first
  const diedAt: number[] = []

  const sleep = (ms: number, ref: boolean) => wait(ms, undefined, { ref, signal: ending.signal }).catch(() => undefined)

  const untilDeath = async () => {
    while (!ending.signal.aborted && (await current.alive())) {
      // The watch alone must not keep the process running.
      await sleep(checkEveryMs, false)
    }
  }

  const dyingTooOften = () => {
    const now = performance.now()
    diedAt.push(now)
    return diedAt.filter((at) => at > now - deathLimit.withinMs).length > deathLimit.max
  }

  const restart = async (): Promise<boolean> => {
    for (let attempt = 0; attempt < maxAttempts && !ending.signal.aborted; attempt++) {
      await sleep(attempt === 0 ? 0 : firstPauseMs * 2 ** attempt, true)
      if (ending.signal.aborted) break
      try {
        current = await relaunch(current.port)
        return true
      } catch (error) {
        log.error({ err: error, attempt: attempt + 1 }, 'embedded database restart failed')
      }
    }
    return false
  }

  const watch = async () => {
    for (;;) {
      await untilDeath()
      if (ending.signal.aborted) return
      log.error({ pid: current.pid, last_words: await lastLogLines().catch(() => '') }, 'embedded database died')
      const restarted = !dyingTooOften() && (await restart())
      if (ending.signal.aborted) return
      if (!restarted) {
        log.fatal('embedded database lost')
        onLost()
        return
      }
      log.warn({ pid: current.pid }, 'embedded database restarted')
    }
  }

  const watching = watch()
  return {
    /** Ends the watch, after a restart that is in progress, and returns the current server. */
    end: async (): Promise<Postmaster> => {
      ending.abort()
      await watching
      return current
    },
  }
}
