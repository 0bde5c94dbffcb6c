/**
 * Group commit: calls that arrive together share one statement. Otherwise the counter row of a busy org would be a queue
 * of single commits. An idle batcher runs a lone call at once; a busy one collects calls for its next statement.
 */
import { currentRequest, inRequest, newRequestContext, type RequestContext } from '../ground/request-context.ts'
import { hadNoEffect } from './faults.ts'
import { assertNotInTransaction } from './pool.ts'

type BatchOptions<In, Out> = {
  name: string
  /** Runs one statement for all items and returns their results in the same order. All items succeed, or none. */
  run: (items: In[]) => Promise<Out[]>
  /** Items of one caller run in the order in which they were submitted. Without it, any two items may run at once. */
  caller?: (item: In) => string
  /** Two items of one caller never share a statement. */
  onePerCaller?: true
  maxItems?: number
  /** The approximate characters of an item in the statement. Few large items share one statement. */
  weight?: (item: In) => number
  /** How many statements run at once. */
  concurrency?: number
  /** How long a second statement waits for more items while the first is running. */
  waitMs?: number
  /** Whether a failed statement surely changed nothing, so that its items may be retried one by one. */
  harmless?: (error: unknown) => boolean
}

export interface Batcher<In, Out> {
  submit(item: In): Promise<Out>
  /** Resolves when nothing is queued or running. */
  drained(): Promise<void>
}

/** When a batcher starts its next statement, and how many items that takes. */
type Pace = {
  /** The most items that the next statement takes, given how many are queued. */
  share: (queued: number) => number
  /** How many queued items start a further statement at once. Fewer wait for `waitMs`. */
  startsAtOnce: number
  waitMs: number
}

type Waiting<In, Out> = {
  item: In
  caller: string | undefined
  request: RequestContext | undefined
  resolve: (out: Out) => void
  reject: (error: unknown) => void
}

/** A statement of many large items would exceed the longest text that Node can hold, or fill the memory. */
export const maxWeight = 8_000_000

const defaultMaxItems = 100

/** For independent calls. A second statement starts as soon as a full batch is queued. */
export const makeBatcher = <In, Out>(options: BatchOptions<In, Out>): Batcher<In, Out> => {
  const { maxItems = defaultMaxItems, waitMs = 2 } = options
  return makeQueue(options, { share: () => maxItems, startsAtOnce: maxItems, waitMs })
}

/** Smaller batches are not worth a statement. */
const minStepItems = 50

/**
 * For one of several steps that each call takes in turn. A second statement at the same time only makes both smaller, so
 * one starts only when the first is slower than usual, however many calls are queued. A statement takes half of a long
 * queue, so that some calls are at this step while others are at the next.
 */
export const makeStepBatcher = <In, Out>(options: BatchOptions<In, Out>): Batcher<In, Out> => {
  const { maxItems = defaultMaxItems, waitMs = 20 } = options
  const share = (queued: number) => Math.min(maxItems, Math.max(minStepItems, queued >>> 1))
  return makeQueue(options, { share, startsAtOnce: Number.POSITIVE_INFINITY, waitMs })
}

/** Runs one batch: resolves or rejects each of its items, and never throws. */
const makeRunBatch = <In, Out>({ name, run, harmless = hadNoEffect }: BatchOptions<In, Out>) => {
  /** What the statement changed, or may have changed, was changed by the requests of all its items. */
  const runAll = async (batch: Waiting<In, Out>[]): Promise<Out[]> => {
    const shared = newRequestContext(batch[0]?.request?.id)
    try {
      const outs = await inRequest(shared, () => run(batch.map((waiting) => waiting.item)))
      if (outs.length !== batch.length)
        throw new Error(`${name} returned ${outs.length} results for ${batch.length} items`)
      return outs
    } finally {
      if (shared.changed) for (const { request } of batch) if (request) request.changed = true
    }
  }

  const runBatch = async (batch: Waiting<In, Out>[]): Promise<void> => {
    let outs: Out[]
    try {
      outs = await runAll(batch)
    } catch (error) {
      if (batch.length === 1 || !harmless(error)) {
        for (const waiting of batch) waiting.reject(error)
        return
      }
      // One bad row failed the statement, and the database undid all of it. Each item now runs alone, so that only the
      // bad one fails.
      for (const waiting of batch) await runBatch([waiting])
      return
    }
    for (let i = 0; i < batch.length; i++) batch[i]!.resolve(outs[i]!)
  }
  return runBatch
}

/** The queue of both kinds of batcher. */
const makeQueue = <In, Out>(options: BatchOptions<In, Out>, pace: Pace): Batcher<In, Out> => {
  const { name, caller, onePerCaller, weight, concurrency = 2 } = options
  const runBatch = makeRunBatch(options)
  let queue: Waiting<In, Out>[] = []
  let running = 0
  let starting = false
  let timer: NodeJS.Timeout | undefined
  const busyCallers = new Set<string>()
  let onDrained: (() => void)[] = []

  /** How many of the oldest items, up to `most`, fit into one statement; at least one. */
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

  /** Takes the oldest items, without those whose caller has earlier items in a running statement. */
  const take = (): Waiting<In, Out>[] => {
    const most = pace.share(queue.length)
    if (!caller || (busyCallers.size === 0 && !onePerCaller)) return queue.splice(0, fitting(most))
    const taken: Waiting<In, Out>[] = []
    const left: Waiting<In, Out>[] = []
    const held = new Set(busyCallers)
    for (const waiting of queue) {
      const of = waiting.caller as string
      if (taken.length === most || held.has(of)) left.push(waiting)
      else {
        taken.push(waiting)
        if (onePerCaller) held.add(of)
      }
    }
    queue = left
    return taken
  }

  const start = (batch: Waiting<In, Out>[]): void => {
    running++
    for (const { caller: of } of batch) if (of !== undefined) busyCallers.add(of)
    void runBatch(batch).finally(() => {
      running--
      for (const { caller: of } of batch) if (of !== undefined) busyCallers.delete(of)
      if (queue.length > 0) schedule()
      else if (running === 0) {
        const waiting = onDrained
        onDrained = []
        for (const resolve of waiting) resolve()
      }
    })
  }

  const startAll = (): void => {
    clearTimeout(timer)
    timer = undefined
    while (running < concurrency && queue.length > 0) {
      const batch = take()
      if (batch.length === 0) return
      start(batch)
      // Another statement starts only for a full batch or after the wait; otherwise statements would stay small.
      if (queue.length < pace.startsAtOnce) break
    }
    if (queue.length > 0 && running < concurrency) schedule()
  }

  const schedule = (): void => {
    if (running >= concurrency) return
    if (running === 0 || queue.length >= pace.startsAtOnce) {
      // Calls of the same turn of the event loop share a statement, at no cost in time.
      if (starting) return
      starting = true
      setImmediate(() => {
        starting = false
        startAll()
      })
      return
    }
    timer ??= setTimeout(startAll, pace.waitMs)
  }

  return {
    submit: (item) => {
      assertNotInTransaction(`the shared statement ${name}`)
      return new Promise<Out>((resolve, reject) => {
        queue.push({ item, caller: caller?.(item), request: currentRequest(), resolve, reject })
        schedule()
      })
    },
    drained: () =>
      queue.length === 0 && running === 0 ? Promise.resolve() : new Promise((resolve) => onDrained.push(resolve)),
  }
}
