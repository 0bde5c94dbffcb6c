import { setTimeout as sleep } from 'node:timers/promises'
import { lostConnection, sqlState } from '../../platform/db/faults.ts'
import type { Log } from '../../platform/ground/log.ts'

type Needs = {
  start: () => Promise<void>
  /** Ends what a failed start has begun. */
  undo: () => Promise<void>
  log: Log
  /** Aborted when the process stops. */
  stopping: AbortSignal
  pauseMs?: number
}

/** Out of disk, memory or connections, shutting down, read-only as during a failover, or closed to connections. */
const isTemporary = (error: unknown): boolean =>
  lostConnection(error) || /^(53|57P|25006|55000)/.test(sqlState(error) ?? '')

/** Starts background work. While the database is unavailable it retries, instead of ending the process. */
export const startWhenAvailable = async ({ start, undo, log, stopping, pauseMs = 1_000 }: Needs): Promise<void> => {
  while (!stopping.aborted) {
    try {
      await start()
      return
    } catch (error) {
      await undo().catch(() => undefined)
      // A start that the end of the process cut off is not a fault.
      if (stopping.aborted) return
      if (!isTemporary(error)) throw error
      log.error({ err: error }, 'worker start failed, retrying')
      await sleep(pauseMs, undefined, { signal: stopping }).catch(() => undefined)
    }
  }
}
