/** Limits how many sends of a process are prepared at the same time. The others wait in the order of their arrival. */
export const makeTurns = (most: number) => {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      // The place passes to the next one directly, so that no newcomer takes it in between.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
