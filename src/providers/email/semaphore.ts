/** Limits concurrency. Callers wait in order, and only for a limited time. */
export interface Semaphore {
  /** Resolves with false when the wait times out. After true, the caller must call `release`. */
  acquire(): Promise<boolean>
  release(): void
}

export const makeSemaphore = (permits: number, waitMs: number): Semaphore => {
  let available = permits
  const waiters = new Set<() => void>()
  return {
    acquire: () =>
      new Promise((resolve) => {
        if (available > 0) {
          available--
          resolve(true)
          return
        }
        const grant = () => {
          clearTimeout(timer)
          resolve(true)
        }
        const timer = setTimeout(() => {
          waiters.delete(grant)
          resolve(false)
        }, waitMs)
        waiters.add(grant)
      }),
    release: () => {
      const [next] = waiters
      if (next) {
        waiters.delete(next)
        next()
      } else available++
    },
  }
}
