/** Remembers names until an instant, in the memory of this process. At its capacity it forgets the oldest name. */
export interface Recent {
  has(name: string, now: number): boolean
  add(name: string, until: number): void
  size(): number
}

export const makeRecent = (capacity: number): Recent => {
  const untilByName = new Map<string, number>()
  return {
    has: (name, now) => {
      const until = untilByName.get(name)
      if (until === undefined) return false
      if (now < until) return true
      untilByName.delete(name)
      return false
    },
    add: (name, until) => {
      // A name that is added again moves to the end.
      untilByName.delete(name)
      untilByName.set(name, until)
      if (untilByName.size <= capacity) return
      for (const oldest of untilByName.keys()) {
        untilByName.delete(oldest)
        return
      }
    },
    size: () => untilByName.size,
  }
}
