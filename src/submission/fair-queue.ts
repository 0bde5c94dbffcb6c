/**
 * Shares a few workers fairly. Each lane runs one task at a time, and the lanes take turns, so a sender with many or
 * slow tasks delays only its own.
 */
import { Failure } from '../ground/errors.ts'

export interface FairQueue {
  /** Rejects when too many tasks are waiting. A task whose `gone` signal fires before it starts is dropped. */
  run<T>(lane: string, task: () => Promise<T>, gone?: AbortSignal): Promise<T>
  /** Resolves when no task is running or waiting. */
  idle(): Promise<void>
}

type WaitingTask = { start: () => void }

export type QueueLimits = { concurrency: number; waitingPerLane: number; waiting: number }

const tooMany = (messages: string): Failure =>
  new Failure('RATE_LIMITED', {
    message: `Too many ${messages} are waiting to be read. Try again later.`,
    retryAfter: 30,
  })

export const makeFairQueue = ({ concurrency, waitingPerLane, waiting: maxWaiting }: QueueLimits): FairQueue => {
  // In the order in which the lanes are served. A lane that has run a task moves to the end.
  const lanes = new Map<string, Set<WaitingTask>>()
  const busyLanes = new Set<string>()
  let waiting = 0
  let idleCallbacks: (() => void)[] = []

  const remove = (lane: string, task: WaitingTask): boolean => {
    const queue = lanes.get(lane)
    if (!queue?.delete(task)) return false
    waiting--
    if (queue.size === 0) lanes.delete(lane)
    return true
  }

  const startNext = (): void => {
    for (const [lane, queue] of lanes) {
      if (busyLanes.size >= concurrency) break
      if (busyLanes.has(lane)) continue
      const [task] = queue
      if (!task) continue
      remove(lane, task)
      busyLanes.add(lane)
      task.start()
    }
    if (busyLanes.size + waiting > 0) return
    for (const resolve of idleCallbacks) resolve()
    idleCallbacks = []
  }

  const finish = (lane: string): void => {
    busyLanes.delete(lane)
    const queue = lanes.get(lane)
    if (queue && lanes.delete(lane)) lanes.set(lane, queue)
    startNext()
  }

  return {
    run: <T>(lane: string, task: () => Promise<T>, gone?: AbortSignal) =>
      new Promise<T>((resolve, reject) => {
        gone?.throwIfAborted()
        const queue = lanes.get(lane) ?? new Set()
        if (queue.size >= waitingPerLane) throw tooMany('messages of this organisation')
        if (waiting >= maxWaiting) throw tooMany('messages')
        const drop = (): void => {
          if (remove(lane, waitingTask)) reject(gone?.reason)
        }
        const waitingTask: WaitingTask = {
          start: () => {
            gone?.removeEventListener('abort', drop)
            task()
              .finally(() => finish(lane))
              .then(resolve, reject)
          },
        }
        gone?.addEventListener('abort', drop, { once: true })
        lanes.set(lane, queue.add(waitingTask))
        waiting++
        startNext()
      }),
    idle: () =>
      new Promise((resolve) => {
        idleCallbacks.push(resolve)
        startNext()
      }),
  }
}
