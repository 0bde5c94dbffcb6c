/**
 * Stores the messages of a batch together with the audit entry about them, and the last of them with the response. They
 * are stored at once when all have an outcome. If that takes longer than a second, those that have one are stored first,
 * with an entry of their own, so that a crash leaves few messages that were sent and not stored.
 */
import type { AuditEntry } from '../../journal/audit/append.ts'
import { maxWeight } from '../../platform/db/batch.ts'
import type { Log } from '../../platform/ground/log.ts'
import { type RecordChunk, type Recording, type RecordingChunk, weightInChunk } from './record.ts'

const longestWaitMs = 1_000

/** A message of a batch that was handed over, or that the provider refused. */
export type ItemOutcome<R> = {
  recording: Recording
  isSent: boolean
  resultOf: (stored: boolean) => R
  onStored?: (() => void) | undefined
}

/** What commits with the last messages of a batch. */
type LastOf<R> = (results: R[]) => Pick<Recording, 'answer' | 'closes'>

type Needs = { record: RecordChunk; entryOf: (sent: number) => AuditEntry; log: Log; waitMs?: number }

export const startChunks = <R>({ record, entryOf, log, waitMs = longestWaitMs }: Needs) => {
  const results: R[] = []
  let waiting: ItemOutcome<R>[] = []
  let weight = 0
  let timer: NodeJS.Timeout | undefined
  let storing = Promise.resolve(false)

  const resultsOf = (outcomes: ItemOutcome<R>[], stored: readonly boolean[]): R[] =>
    outcomes.map(({ resultOf }, i) => resultOf(stored[i] === true))

  /** Returns whether the chunk was stored. */
  const store = async (outcomes: ItemOutcome<R>[], lastOf?: LastOf<R>): Promise<boolean> => {
    const withThem = (stored: readonly boolean[]): ReturnType<RecordingChunk['withThem']> => {
      const sent = outcomes.filter(({ isSent }, i) => isSent && stored[i]).length
      const last = lastOf?.([...results, ...resultsOf(outcomes, stored)])
      return { ...(sent > 0 && { entry: entryOf(sent) }), ...last }
    }
    const recordings = outcomes.map(({ recording }) => recording)
    const stored = await record({ recordings, withThem }).catch((error: unknown) => {
      log.error({ err: error, message_ids: recordings.map(({ message }) => message.id) }, 'sent messages not recorded')
      return undefined
    })
    results.push(...resultsOf(outcomes, stored ?? []))
    outcomes.forEach(({ onStored }, i) => {
      if (stored?.[i]) onStored?.()
    })
    return stored !== undefined
  }

  const takeWaiting = (): ItemOutcome<R>[] => {
    clearTimeout(timer)
    timer = undefined
    const taken = waiting
    waiting = []
    weight = 0
    return taken
  }

  const storeWaiting = (): void => {
    const taken = takeWaiting()
    storing = storing.then(() => store(taken))
  }

  return {
    add: (outcome: ItemOutcome<R>): void => {
      waiting.push(outcome)
      weight += weightInChunk(outcome.recording)
      if (weight > maxWeight) storeWaiting()
      else timer ??= setTimeout(storeWaiting, waitMs)
    },
    /**
     * Stores the rest. `lastOf` gets the results of all messages, and what it returns commits with the last of them.
     * `stored` is false if nothing was left to store, or if it could not be stored.
     */
    finish: async (lastOf: LastOf<R>): Promise<{ results: R[]; stored: boolean }> => {
      const taken = takeWaiting()
      await storing
      const stored = taken.length > 0 && (await store(taken, lastOf))
      return { results, stored }
    },
  }
}

export type BatchChunks<R> = ReturnType<typeof startChunks<R>>
