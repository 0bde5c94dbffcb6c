/** How far a replica has replayed what the primary had written at known moments. */

type Sample = { at: number; position: number }

/** A replica that is far behind leaves samples waiting. Without the oldest of them, its lag looks larger, never smaller. */
const maxWaiting = 1_000

export const makeReplayProgress = () => {
  let waiting: Sample[] = []
  let upTo = Number.NEGATIVE_INFINITY
  return {
    /** The primary was asked at `at`, by a monotonic clock, and has written its log up to `position` or further. */
    written: (at: number, position: number): void => {
      const last = waiting.at(-1)
      if (last?.position === position) last.at = at
      else waiting.push({ at, position })
      if (waiting.length > maxWaiting) waiting.shift()
    },
    replayed: (position: number): void => {
      const done = waiting.findLastIndex((sample) => sample.position <= position)
      if (done < 0) return
      upTo = (waiting[done] as Sample).at
      waiting = waiting.slice(done + 1)
    },
    /** What was committed before this moment has been replayed. Minus infinity if nothing is known. */
    upTo: (): number => upTo,
    /** Whether the replica has replayed everything that the primary is known to have written. */
    isLevel: (): boolean => waiting.length === 0,
    /** Positions of another primary, or of a replica that was away, say nothing about the present ones. */
    forget: (): void => {
      waiting = []
      upTo = Number.NEGATIVE_INFINITY
    },
  }
}
