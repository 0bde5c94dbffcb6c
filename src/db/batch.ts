/**
 * Group commit. Calls that arrive together share one statement, since one org's counter row is otherwise a
 * queue of commits. An idle batcher runs a lone call at once; a busy one collects.
 */

import { refusedCleanly } from './faults.ts'
import { assertNotInTransaction } from './pool.ts'

export type BatchOptions<In, Out> = {
  name: string
  /** One statement for all items; answers in the order of the items. All or nothing. */
  run: (items: In[]) => Promise<Out[]>
  /** Items of one caller run in the order they were given. Without it, any two items may run side by side. */
  caller?: (item: In) => string
  /** Items of one caller also never share a statement. */
  apart?: true
  maxItems?: number
  /** About how many characters an item takes in the statement: large ones share it with few others. */
  weight?: (item: In) => number
  lanes?: number
  /** How long a second statement waits for company while the first is still under way. */
  waitMs?: number
  /**
   * One of several steps that each call takes, one after the other. A second statement beside the first only makes both
   * smaller, so it opens when the first is slower than usual, not because many wait. And of many that wait half are
   * taken, so that some callers are at one step while others are at the next.
   */
  step?: true
  /** Whether a failed statement surely had no effect, so that its items may be tried one by one. */
  harmless?: (error: unknown) => boolean
}

/** Fewer are not worth a statement of their own. */
const leastOfStep = 50
const stepWaitMs = 20
/** A statement of many large items would be longer than any text can be, or fill the memory. */
const maxWeight = 8_000_000

export interface Batcher<In, Out> {
  submit(item: In): Promise<Out>
  /** Resolves when nothing is queued or under way. */
  drained(): Promise<void>
}

type Waiting<In, Out> = {
  item: In
  caller: string | undefined
  resolve: (out: Out) => void
  reject: (error: unknown) => void
}

export const makeBatcher = <In, Out>(options: BatchOptions<In, Out>): Batcher<In, Out> => {
  const { run, caller, apart, step, weight, lanes = 2, harmless = refusedCleanly } = options
  const { maxItems = 100, waitMs = step ? stepWaitMs : 2 } = options
  let queue: Waiting<In, Out>[] = []
  let busy = 0
  let flushing = false
  let later: NodeJS.Timeout | undefined
  const callersAtWork = new Set<string>()
  let idle: (() => void)[] = []

  /** How many of the oldest, up to `most`, one statement can hold; one at least. */
  const fitting = (most: number): number => {
    if (!weight) return most
    let sum = 0
    const end = Math.min(most, queue.length)
    for (let count = 0; count < end; count++) {
      sum += weight(queue[count]!.item)
      if (sum > maxWeight && count > 0) return count
    }
    return end
  }

  /** The next items, oldest first, leaving those whose caller has earlier ones under way. */
  const take = (): Waiting<In, Out>[] => {
    const most = step ? Math.min(maxItems, Math.max(leastOfStep, queue.length >>> 1)) : maxItems
    if (!caller || (callersAtWork.size === 0 && !apart)) return queue.splice(0, fitting(most))
    const taken: Waiting<In, Out>[] = []
    const left: Waiting<In, Out>[] = []
    const held = new Set(callersAtWork)
    for (const waiting of queue) {
      const name = waiting.caller as string
      if (taken.length === most || held.has(name)) left.push(waiting)
      else {
        taken.push(waiting)
        if (apart) held.add(name)
      }
    }
    queue = left
    return taken
  }

  const runAll = async (batch: Waiting<In, Out>[]): Promise<Out[]> => {
    const outs = await run(batch.map((waiting) => waiting.item))
    if (outs.length !== batch.length) {
      throw new Error(`${options.name} answered ${outs.length} of ${batch.length} items`)
    }
    return outs
  }

  const settleOne = async (waiting: Waiting<In, Out>): Promise<void> => {
    try {
      const [out] = await runAll([waiting])
      waiting.resolve(out as Out)
    } catch (error) {
      waiting.reject(error)
    }
  }

  const settle = async (batch: Waiting<In, Out>[]): Promise<void> => {
    let outs: Out[]
    try {
      outs = await runAll(batch)
    } catch (error) {
      if (batch.length === 1 || !harmless(error)) {
        for (const waiting of batch) waiting.reject(error)
        return
      }
      // One row spoiled the statement, which was undone whole: each now runs alone and answers for itself.
      for (const waiting of batch) await settleOne(waiting)
      return
    }
    for (let i = 0; i < batch.length; i++) batch[i]!.resolve(outs[i]!)
  }

  const flush = (): void => {
    clearTimeout(later)
    later = undefined
    while (busy < lanes && queue.length > 0) {
      const batch = take()
      if (batch.length === 0) return
      busy++
      for (const { caller: name } of batch) if (name !== undefined) callersAtWork.add(name)
      void settle(batch).finally(() => {
        busy--
        for (const { caller: name } of batch) if (name !== undefined) callersAtWork.delete(name)
        if (queue.length > 0) arrange()
        else if (busy === 0 && idle.length > 0) {
          const woken = idle
          idle = []
          for (const wake of woken) wake()
        }
      })
      // A second lane opens only for a full batch or after the wait, else statements would stay small.
      if (step || queue.length < maxItems) break
    }
    if (queue.length > 0 && busy < lanes) arrange()
  }

  const arrange = (): void => {
    if (busy >= lanes) return
    if (busy === 0 || (!step && queue.length >= maxItems)) {
      // What arrives in the same turn of the event loop travels together, and it costs no waiting.
      if (flushing) return
      flushing = true
      setImmediate(() => {
        flushing = false
        flush()
      })
      return
    }
    later ??= setTimeout(flush, waitMs)
  }

  return {
    submit: (item) => {
      assertNotInTransaction(`the shared statement ${options.name}`)
      return new Promise<Out>((resolve, reject) => {
        queue.push({ item, caller: caller?.(item), resolve, reject })
        arrange()
      })
    },
    drained: () =>
      queue.length === 0 && busy === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve)),
  }
}
