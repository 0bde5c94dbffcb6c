import type { MaybePromise } from '../ground/maybe-promise.ts'

type Options = {
  ttlMs?: number
  max?: number
  /** False while change notifications do not arrive. Nothing is cached and nothing cached is used then. */
  trusted: () => boolean
}

/**
 * Caches the rows that identify a caller. Entries are at most five seconds old and are dropped as soon as their org
 * changes.
 */
export const makeShortCache = <V>({ ttlMs = 5_000, max = 10_000, trusted }: Options) => {
  const entries = new Map<string, { orgId: string; value: V; expiresAt: number }>()
  const reads = new Map<string, { mark: number; value: Promise<V> }>()
  let changes = 0
  const cache = {
    get: (key: string): V | undefined => {
      const entry = entries.get(key)
      if (!entry) return undefined
      // Entries age in real time, which the development clock does not move.
      if (entry.expiresAt > performance.now() && trusted()) return entry.value
      entries.delete(key)
      return undefined
    },
    /** Take a mark before a read and pass it to `keep`, which ignores values that were read before a change. */
    mark: (): number => changes,
    keep: (key: string, orgId: string, value: V, mark: number): void => {
      if (mark !== changes || !trusted()) return
      entries.delete(key)
      if (entries.size >= max) entries.delete(entries.keys().next().value as string)
      entries.set(key, { orgId, value, expiresAt: performance.now() + ttlMs })
    },
    /** The cached value, or else the result of `read`. Concurrent calls share one read unless a change came between. */
    through: (key: string, orgId: string, read: () => Promise<V>): MaybePromise<V> => {
      const cached = cache.get(key)
      if (cached !== undefined) return cached
      const mark = changes
      const current = reads.get(key)
      if (current?.mark === mark) return current.value
      const value = read()
        .then((found) => {
          cache.keep(key, orgId, found, mark)
          return found
        })
        .finally(() => {
          if (reads.get(key)?.value === value) reads.delete(key)
        })
      reads.set(key, { mark, value })
      return value
    },
    forgetOrg: (orgId: string): void => {
      changes++
      for (const [key, entry] of entries) if (entry.orgId === orgId) entries.delete(key)
    },
    clear: (): void => {
      changes++
      entries.clear()
    },
  }
  return cache
}
