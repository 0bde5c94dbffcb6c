/** When orgs and people last wrote. */

/** A mark lives longer than the largest lag that a replica in use may have. */
export const markLifeMs = 180_000

export interface WriteMarks {
  /** Marks a write that has just ended. Resolves when every process can see the mark. */
  wrote(subjects: readonly string[]): void | Promise<void>
  /**
   * Milliseconds since the last write of any of them, at most as long as it really is. Infinity if there was none
   * within `markLifeMs`, null if that cannot be known.
   */
  age(subjects: readonly string[]): number | null | Promise<number | null>
  close(): Promise<void>
}

/** The marks of one process. `now` is a monotonic clock. */
export const makeMemoryMarks = (now: () => number = () => performance.now()): WriteMarks => {
  /** Oldest first. */
  const writtenAt = new Map<string, number>()

  const removeOld = (at: number): void => {
    for (const [subject, when] of writtenAt) {
      if (at - when <= markLifeMs) return
      writtenAt.delete(subject)
    }
  }

  return {
    wrote: (subjects) => {
      const at = now()
      removeOld(at)
      for (const subject of subjects) {
        writtenAt.delete(subject)
        writtenAt.set(subject, at)
      }
    },
    age: (subjects) => {
      const last = Math.max(...subjects.map((subject) => writtenAt.get(subject) ?? Number.NEGATIVE_INFINITY))
      return Math.max(0, now() - last)
    },
    close: async () => undefined,
  }
}
