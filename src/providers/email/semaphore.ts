/** Limits concurrency. Callers wait in order, and only for a limited time. */
export const makeSemaphore = (permits: number, waitMs: number) => {
  let available = permits
  const waiters = new Set<() => void>()
  return {
    /** Resolves with false when the wait times out. After true, the caller must call `release`. */
    acquire: () =>
      new Promise<boolean>((resolve) => {
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
    release: (): void => {
      const [next] = waiters
      if (next) {
        waiters.delete(next)
        next()
      } else available++
    },
  }
}
