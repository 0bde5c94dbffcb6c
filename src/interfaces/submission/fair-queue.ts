/**
 * Shares a few workers fairly. Each lane has one worker at a time, and the lanes take turns, so a sender with many or
 * slow tasks delays only its own. A turn is one task, or several light ones that start together.
 */
import { Failure } from '../../platform/ground/errors.ts'

/** Tasks that start together get the same turn, and share its worker. */
export type QueueTurn = { running: number }

type TaskOptions = { gone?: AbortSignal | undefined; weight?: number }

type WaitingTask = { start: (turn: QueueTurn) => void; weight: number }

type QueueLimits = {
  concurrency: number
  waitingPerLane: number
  waiting: number
  /** How many tasks a turn has, and their weight together. A heavier task has a turn of its own. */
  tasksPerTurn: number
  weightPerTurn: number
}

const tooMany = (messages: string): Failure =>
  new Failure('RATE_LIMITED', {
    message: `Too many ${messages} are waiting to be read. Try again later.`,
    retryAfter: 30,
  })

export const makeFairQueue = (limits: QueueLimits) => {
  const { concurrency, waitingPerLane, waiting: maxWaiting, tasksPerTurn, weightPerTurn } = limits
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

  const tasksOfTurn = (queue: Set<WaitingTask>): WaitingTask[] => {
    const chosen: WaitingTask[] = []
    let weight = 0
    for (const task of queue) {
      weight += task.weight
      if (chosen.length > 0 && (weight > weightPerTurn || chosen.length >= tasksPerTurn)) break
      chosen.push(task)
    }
    return chosen
  }

  const startTurn = (lane: string, queue: Set<WaitingTask>): void => {
    const tasks = tasksOfTurn(queue)
    for (const task of tasks) remove(lane, task)
    busyLanes.add(lane)
    const turn: QueueTurn = { running: tasks.length }
    for (const { start } of tasks) start(turn)
  }

  const startNext = (): void => {
    for (const [lane, queue] of lanes) {
      if (busyLanes.size >= concurrency) break
      if (!busyLanes.has(lane)) startTurn(lane, queue)
    }
    if (busyLanes.size + waiting > 0) return
    for (const resolve of idleCallbacks) resolve()
    idleCallbacks = []
  }

  const finish = (lane: string, turn: QueueTurn): void => {
    if (--turn.running > 0) return
    busyLanes.delete(lane)
    const queue = lanes.get(lane)
    if (queue && lanes.delete(lane)) lanes.set(lane, queue)
    startNext()
  }

  return {
    /** Rejects when too many tasks are waiting. A task whose `gone` signal fires before it starts is dropped. */
    run: <T>(lane: string, task: (turn: QueueTurn) => Promise<T>, { gone, weight = 0 }: TaskOptions = {}) =>
      new Promise<T>((resolve, reject) => {
        gone?.throwIfAborted()
        const queue = lanes.get(lane) ?? new Set()
        if (queue.size >= waitingPerLane) throw tooMany('messages of this organisation')
        if (waiting >= maxWaiting) throw tooMany('messages')
        const drop = (): void => {
          if (remove(lane, waitingTask)) reject(gone?.reason)
        }
        const waitingTask: WaitingTask = {
          weight,
          start: (turn) => {
            gone?.removeEventListener('abort', drop)
            task(turn)
              .finally(() => finish(lane, turn))
              .then(resolve, reject)
          },
        }
        gone?.addEventListener('abort', drop, { once: true })
        lanes.set(lane, queue.add(waitingTask))
        waiting++
        startNext()
      }),
    /** Resolves when no task is running or waiting. */
    idle: () =>
      new Promise<void>((resolve) => {
        idleCallbacks.push(resolve)
        startNext()
      }),
  }
}
