/** Changes to the schema of a running service: they wait for locks only briefly, and try again later. */
import { setTimeout as wait } from 'node:timers/promises'
import type pg from 'pg'
import { sqlState } from './faults.ts'

/**
 * How long a change waits for the lock of a table. While it waits, every later statement on the table waits behind it,
 * those of requests included. It is shorter than `deadlock_timeout`, so in a deadlock with requests the change usually
 * gives way.
 */
const lockTimeoutMs = 50
const defaultPauseMs = 500

/** Another session has a lock that the change needs, or both wait for each other. */
export const isLocked = (error: unknown): boolean => ['55P03', '40P01'].includes(sqlState(error) ?? '')

type Patience = {
  /** How long to repeat a change whose tables other sessions lock. */
  patienceMs: number
  /** How long to leave the others alone before each repetition. */
  pauseMs?: number
  /** Called before each repetition. */
  onLocked?: (error: Error) => void
}

/** Repeats work that can be repeated while other sessions have the locks that it needs. */
export const whenUnlocked = async <T>(work: () => Promise<T>, patience: Patience): Promise<T> => {
  const { patienceMs, pauseMs = defaultPauseMs, onLocked } = patience
  const giveUpAt = performance.now() + patienceMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isLocked(error) || performance.now() >= giveUpAt) throw error
      onLocked?.(error as Error)
      await wait(pauseMs)
    }
  }
}

/** A transaction that fails, instead of waiting, when another session keeps a lock that it needs. */
export const withBriefLocks = async <T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> => {
  await client.query('begin')
  try {
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    // If the rollback fails too, the connection is lost and the server rolls back by itself.
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}
