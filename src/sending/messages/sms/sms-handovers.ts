/**
 * Text messages that this process is handing to a provider. An opt-out is acknowledged only after those to the same
 * number: they may have been checked before it was stored, and later ones are not handed over.
 */
import { setTimeout as pause } from 'node:timers/promises'

export interface SmsHandovers {
  /** Runs `work`, which checks the suppressions of the number and then hands a message over. */
  track<T>(orgId: string, to: string, work: () => Promise<T>): Promise<T>
  /** Resolves when the handovers to the number that have begun are over, or after `longestWaitMs`. */
  settled(orgId: string, to: string): Promise<void>
}

/** Providers repeat a notification that is not acknowledged in 15 seconds. */
export const longestWaitMs = 10_000

export const makeSmsHandovers = (): SmsHandovers => {
  const byNumber = new Map<string, Set<Promise<unknown>>>()
  const keyOf = (orgId: string, to: string): string => `${orgId} ${to}`

  return {
    track: async (orgId, to, work) => {
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

    settled: async (orgId, to) => {
      const begun = [...(byNumber.get(keyOf(orgId, to)) ?? [])]
      if (begun.length === 0) return
      const waited = new AbortController()
      const timeout = pause(longestWaitMs, undefined, { signal: waited.signal, ref: false }).catch(() => undefined)
      await Promise.race([Promise.allSettled(begun), timeout])
      waited.abort()
    },
  }
}
