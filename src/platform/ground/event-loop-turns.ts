/**
 * Long work on the event loop runs in slices of a few milliseconds. Between two slices it waits for its turn, so that
 * requests are served in the meantime. All long work of the process shares one queue, and each turn of the event loop
 * runs one slice: ten pieces of long work take ten times as long, but no pause is longer than a slice.
 */

/** In milliseconds. */
const sliceMs = 5

const waiting: (() => void)[] = []

const runNext = (): void => {
  const resume = waiting.shift()
  if (waiting.length > 0) setImmediate(runNext)
  resume?.()
}

/** The slices of one piece of work. The first one starts now. */
export const startSlices = () => {
  let endsAt = performance.now() + sliceMs
  return {
    /** Whether the slice has lasted long enough. */
    over: (): boolean => performance.now() >= endsAt,
    /** Resolves when the next slice may run. */
    next: async (): Promise<void> => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 1) setImmediate(runNext)
      })
      endsAt = performance.now() + sliceMs
    },
  }
}

export type Slices = ReturnType<typeof startSlices>

/** Work that pauses between its steps. Each step takes a few milliseconds at most. */
export type Steps<T> = Generator<void, T>

/** Runs all steps at once, where nobody waits for anything else. */
export const runAtOnce = <T>(steps: Steps<T>): T => {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

export const runInSlices = async <T>(steps: Steps<T>): Promise<T> => {
  const slices = startSlices()
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    if (slices.over()) await slices.next()
  }
}
