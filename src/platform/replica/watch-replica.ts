/**
 * Compares what the primary has written with what the replica has replayed, several times a second, so that a read knows
 * from memory whether the replica has a write.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Runner } from '../db/pool.ts'
import type { Log } from '../ground/log.ts'
import { makeReplayProgress } from './replay-progress.ts'
import { type PrimaryPosition, primaryPosition, type ReplicaPosition, replicaPosition } from './store.ts'

/** The connections of a watch have this name and the group of its process, so that other groups see them. */
export const watchNameOf = (group: string): string => `tidings replica watch ${group}`

type Needs = {
  primary: Pick<Runner, 'row'>
  replica: Pick<Runner, 'row'>
  log: Pick<Log, 'info' | 'warn'>
  maxLagMs: number
  /** Processes of one group see each other's marks of writes. Null: all processes do. */
  group: string | null
  /** A monotonic clock. */
  now?: () => number
  /** How often both servers are asked while requests read, and otherwise. */
  everyMs?: number
  idleMs?: number
}

/** Requests that read within this time keep the watch awake. */
const awakeMs = 10_000

const unreachable = 'it cannot be reached'

const causeOf = (error: unknown): string => (error instanceof Error ? error.message || error.name : String(error))

/** Why this server cannot serve reads of that primary. */
const mismatchOf = (primary: PrimaryPosition, replica: ReplicaPosition): string | undefined => {
  if (replica.cluster !== primary.cluster) return 'it is not a replica of the server in DATABASE_URL'
  if (replica.database !== primary.database) return 'it has another database than DATABASE_URL'
  if (!replica.recovering || replica.position === null) return 'it is not a streaming replica'
  if (replica.timeline < primary.timeline) return 'it does not follow the present primary yet'
  return undefined
}

export const watchReplica = (needs: Needs) => {
  const { primary, replica, log, maxLagMs, group, now = () => performance.now() } = needs
  const { everyMs = 100, idleMs = Math.min(1_000, maxLagMs / 4) } = needs
  const own = watchNameOf(group ?? '')
  const progress = makeReplayProgress()
  const lostListeners = new Set<() => void>()
  let timeline: number | undefined
  let feedback = false
  let fault: string | undefined = 'it was not asked yet'
  let reported: string | undefined | null = null
  /** The replica had everything up to this moment, or this process had not started yet. */
  let hadAllAt = now()
  let askedAt = Number.NEGATIVE_INFINITY
  let stopped = false
  let endPause = (): void => undefined
  let loop: Promise<void> | undefined

  const lagMs = (): number => (progress.isLevel() && fault === undefined ? 0 : now() - hadAllAt)

  const faultNow = (): string | undefined => fault ?? (now() - hadAllAt > maxLagMs ? 'it is too far behind' : undefined)

  /** One line in the log for each change. */
  const report = (cause?: unknown): void => {
    const reason = faultNow()
    if (reason === reported) return
    reported = reason
    if (reason === undefined) log.info('requests read from the replica')
    else
      log.warn(
        { reason, ...(cause !== undefined && { cause: causeOf(cause) }) },
        'requests do not read from the replica',
      )
  }

  const lose = (reason: string, cause?: unknown): void => {
    fault = reason
    progress.forget()
    for (const ended of lostListeners) ended()
    lostListeners.clear()
    report(cause)
  }

  const compare = async (written: PrimaryPosition, at: number): Promise<void> => {
    // A new primary begins a new timeline, and may have lost what was at the end of the old one.
    if (timeline !== undefined && written.timeline !== timeline) progress.forget()
    timeline = written.timeline
    const replayed = await replica.row(replicaPosition)
    if (!replayed) return
    const mismatch = mismatchOf(written, replayed)
    if (mismatch !== undefined) return lose(mismatch)
    fault =
      group !== null && written.others > 0
        ? 'other processes use this database, and without REDIS_URL their writes are not known here'
        : undefined
    feedback = replayed.feedback
    progress.written(at, written.position)
    progress.replayed(replayed.position as number)
    hadAllAt = Math.max(hadAllAt, progress.upTo())
  }

  const sample = async (): Promise<void> => {
    const at = now()
    try {
      // Without an answer of the primary the lag grows, until requests stop to read from the replica.
      const written = await primary.row(primaryPosition, { own, pattern: watchNameOf('%') }).catch(() => undefined)
      if (written) await compare(written, at)
      report()
    } catch (error) {
      lose(unreachable, error)
    }
  }

  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, now() - askedAt < awakeMs ? everyMs : idleMs)
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const run = async (): Promise<void> => {
    while (!stopped) {
      await sample()
      if (!stopped) await pause()
    }
  }

  const wake = (): void => {
    const wasIdle = now() - askedAt >= awakeMs
    askedAt = now()
    if (wasIdle) endPause()
  }

  const hasReplayed = (moment: number): boolean => faultNow() === undefined && progress.upTo() > moment

  return {
    /** Whether requests may read from the replica at all. */
    isUsable: (): boolean => {
      wake()
      return faultNow() === undefined
    },
    /** Whether the replica has everything that was committed up to this moment. */
    hasReplayed,
    /** Resolves with whether the replica has reached the present within this time. */
    reaches: async (withinMs: number): Promise<boolean> => {
      wake()
      const from = now()
      while (!hasReplayed(from)) {
        if (faultNow() !== undefined || stopped || now() - from > withinMs) return false
        await sleep(everyMs / 2)
      }
      return true
    },
    /** Whether long statements can run on the replica without being canceled for its replay. */
    keepsSnapshots: (): boolean => feedback,
    lagSeconds: (): number => lagMs() / 1_000,
    /** A statement on the replica failed, so the replica is not used until it answers again. */
    failed: (error: unknown): void => lose(unreachable, error),
    /** Calls `ended` when the replica stops to answer. Returns the function that ends this. */
    onLost: (ended: () => void): (() => void) => {
      lostListeners.add(ended)
      return () => lostListeners.delete(ended)
    },
    /** Asks both servers now. */
    sample,
    start: (): void => {
      loop ??= run()
    },
    stop: async (): Promise<void> => {
      stopped = true
      endPause()
      await loop
    },
  }
}

export type ReplicaWatch = ReturnType<typeof watchReplica>
