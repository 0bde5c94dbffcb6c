/** So many at once; the others wait in line, and not for ever. */
export interface Semaphore {
  /** False when the wait was in vain. Whoever got a turn gives it back. */
  take(): Promise<boolean>
  give(): void
}

export const makeSemaphore = (places: number, waitMs: number): Semaphore => {
  let free = places
  const line = new Set<() => void>()
  return {
    take: () =>
      new Promise((resolve) => {
        if (free > 0) {
          free--
          resolve(true)
          return
        }
        const turn = () => {
          clearTimeout(timer)
          resolve(true)
        }
        const timer = setTimeout(() => {
          line.delete(turn)
          resolve(false)
        }, waitMs)
        line.add(turn)
      }),
    give: () => {
      const [next] = line
      if (next) {
        line.delete(next)
        next()
      } else free++
    },
  }
}
