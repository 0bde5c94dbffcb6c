import type { MaybePromise } from '../ground/maybe-promise.ts'

/** Small copies of rows that decide who a caller is: at most five seconds old, dropped as soon as they change. */
export interface ShortCache<V> {
  get(key: string): V | undefined
  /** Marks the state of the world before a read; a copy read before a change is then not kept. */
  mark(): number
  keep(key: string, orgId: string, value: V, mark: number): void
  /** The copy, or what is read now. Whoever asks meanwhile, and after no change, waits for the same read. */
  through(key: string, orgId: string, read: () => Promise<V>): MaybePromise<V>
  forgetOrg(orgId: string): void
  clear(): void
}

type Options = {
  ttlMs?: number
  max?: number
  /** False while changes cannot be heard: copies are then neither kept nor used. */
  trusted: () => boolean
}

export const makeShortCache = <V>({ ttlMs = 5_000, max = 10_000, trusted }: Options): ShortCache<V> => {
  const copies = new Map<string, { orgId: string; value: V; until: number }>()
  const reads = new Map<string, { mark: number; value: Promise<V> }>()
  let changes = 0
  const cache: ShortCache<V> = {
    get: (key) => {
      const copy = copies.get(key)
      if (!copy) return undefined
      // The age of a copy is real time, which the dev clock does not move.
      if (copy.until > performance.now() && trusted()) return copy.value
      copies.delete(key)
      return undefined
    },
    mark: () => changes,
    keep: (key, orgId, value, mark) => {
      if (mark !== changes || !trusted()) return
      copies.delete(key)
      if (copies.size >= max) copies.delete(copies.keys().next().value as string)
      copies.set(key, { orgId, value, until: performance.now() + ttlMs })
    },
    through: (key, orgId, read) => {
      const copy = cache.get(key)
      if (copy !== undefined) return copy
      const mark = changes
      const other = reads.get(key)
      if (other?.mark === mark) return other.value
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
    forgetOrg: (orgId) => {
      changes++
      for (const [key, copy] of copies) if (copy.orgId === orgId) copies.delete(key)
    },
    clear: () => {
      changes++
      copies.clear()
    },
  }
  return cache
}
