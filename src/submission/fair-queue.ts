/**
 * Whose turn it is. Everyone has a lane of one piece of work at a time, and the lanes take turns: whoever brings much
 * or bad work waits for the own, not others for it.
 */
import { Failure } from '../ground/errors.ts'

export interface FairQueue {
  /** Refused when too much waits already; dropped, and rejected, when `gone` fires before its turn. */
  take<T>(lane: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T>
  /** When nothing runs or waits any more. */
  idle(): Promise<void>
}

type Waiting = { start: () => void }

export type Bounds = { atOnce: number; waitingPerLane: number; waiting: number }

const tooMuch = (what: string): Failure =>
  new Failure('RATE_LIMITED', { message: `${what} wait to be read. Try again later.`, retryAfter: 30 })

export const makeFairQueue = ({ atOnce, waitingPerLane, waiting: most }: Bounds): FairQueue => {
  // In the order of their turns: a lane that had its turn goes to the end.
  const lanes = new Map<string, Set<Waiting>>()
  const busy = new Set<string>()
  let waiting = 0
  let idlers: (() => void)[] = []

  const remove = (lane: string, one: Waiting): boolean => {
    const queue = lanes.get(lane)
    if (!queue?.delete(one)) return false
    waiting--
    if (queue.size === 0) lanes.delete(lane)
    return true
  }

  const advance = (): void => {
    for (const [lane, queue] of lanes) {
      if (busy.size >= atOnce) break
      if (busy.has(lane)) continue
      const [one] = queue
      if (!one) continue
      remove(lane, one)
      busy.add(lane)
      one.start()
    }
    if (busy.size + waiting > 0) return
    for (const resolve of idlers) resolve()
    idlers = []
  }

  const ended = (lane: string): void => {
    busy.delete(lane)
    const queue = lanes.get(lane)
    if (queue && lanes.delete(lane)) lanes.set(lane, queue)
    advance()
  }

  return {
    take: <T>(lane: string, work: () => Promise<T>, gone?: AbortSignal) =>
      new Promise<T>((resolve, reject) => {
        gone?.throwIfAborted()
        const queue = lanes.get(lane) ?? new Set()
        if (queue.size >= waitingPerLane) throw tooMuch('Too many messages of this organisation')
        if (waiting >= most) throw tooMuch('Too many messages')
        const leave = (): void => {
          if (remove(lane, one)) reject(gone?.reason)
        }
        const one: Waiting = {
          start: () => {
            gone?.removeEventListener('abort', leave)
            work()
              .finally(() => ended(lane))
              .then(resolve, reject)
          },
        }
        gone?.addEventListener('abort', leave, { once: true })
        lanes.set(lane, queue.add(one))
        waiting++
        advance()
      }),
    idle: () =>
      new Promise((resolve) => {
        idlers.push(resolve)
        advance()
      }),
  }
}
