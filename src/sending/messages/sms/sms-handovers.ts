/**
 * Text messages that this process is handing to a provider. An opt-out is acknowledged only after those to the same
 * number: they may have been checked before it was stored, and later ones are not handed over.
 */
import { setTimeout as pause } from 'node:timers/promises'

/** Providers repeat a notification that is not acknowledged in 15 seconds. */
export const longestWaitMs = 10_000

/** Waits for the work, or for this time if that is shorter. */
export const orAfter = async (waitMs: number, work: Promise<unknown>): Promise<void> => {
  const waited = new AbortController()
  const timeout = pause(waitMs, undefined, { signal: waited.signal, ref: false }).catch(() => undefined)
  await Promise.race([work, timeout])
  waited.abort()
}

export const makeSmsHandovers = () => {
  const byNumber = new Map<string, Set<Promise<unknown>>>()
  const keyOf = (orgId: string, to: string): string => `${orgId} ${to}`

  return {
    /** Runs `work`, which checks the suppressions of the number and then hands a message over. */
    track: async <T>(orgId: string, to: string, work: () => Promise<T>): Promise<T> => {
      const key = keyOf(orgId, to)
      const handovers = byNumber.get(key) ?? new Set()
      byNumber.set(key, handovers)
      const handover = work()
      handovers.add(handover)
      try {
        return await handover
      } finally {
        handovers.delete(handover)
        if (handovers.size === 0) byNumber.delete(key)
      }
    },

    /** Resolves when the handovers to the number that have begun are over, or after `longestWaitMs`. */
    settled: async (orgId: string, to: string): Promise<void> => {
      const begun = [...(byNumber.get(keyOf(orgId, to)) ?? [])]
      if (begun.length === 0) return
      await orAfter(longestWaitMs, Promise.allSettled(begun))
    },
  }
}

export type SmsHandovers = ReturnType<typeof makeSmsHandovers>
