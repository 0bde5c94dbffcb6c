/**
 * Finds out which processes of the service are gone, so that nobody waits for their requests. Each process adds to its
 * beats in the database, and reads those of the others. A process whose beats stay the same in several rounds is gone.
 * Clocks are not compared, and rounds that fail do not count: while the database is away, nobody is judged.
 */
import type { Db } from '../db/pool.ts'
import { systemClock } from '../ground/clock.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import { beat, endProcess, forgetProcesses } from './store.ts'

export const beatEveryMs = 4_000
/** Rounds without a new beat after which a process is gone: 16 to 20 seconds after its last one. */
export const roundsUntilGone = 4
/** A process that could not add to its beats for this long, which is shorter, does nothing more under its claims. */
export const actsForMs = 12_000
/** Longer than any claim is locked. */
const rememberedMs = 3_600_000

export interface LiveProcesses {
  /** The present name of this process. It gets a new one after a time in which others may have thought it gone. */
  name(): string
  /** Whether the process with this name is this one, and the others believe that it lives. */
  isTrusted(name: string): boolean
  /** The names of processes that are gone. */
  gone(): string[]
  /** Adds the first beat. Claims are made after it. */
  start(): Promise<void>
  /** One round now. The timer calls it every few seconds. */
  round(): Promise<void>
  /** Forgets processes that ended long ago. */
  sweep(): Promise<number>
  /** For a process whose requests are all answered. */
  stop(): Promise<void>
}

type Needs = { db: Pick<Db, 'rows' | 'change'>; log: Log; elapsedMs?: () => number }

export const makeLiveProcesses = ({ db, log, elapsedMs = () => performance.now() }: Needs): LiveProcesses => {
  let name = newId('request')
  let others = new Map<string, { beats: number; unchanged: number }>()
  let trustedUntil = 0
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const round = async (): Promise<void> => {
    const startedAt = elapsedMs()
    if (startedAt >= trustedUntil) name = newId('request')
    try {
      const rows = await db.rows(beat, { id: name, at: systemClock.now() })
      trustedUntil = startedAt + actsForMs
      const seen = new Map<string, { beats: number; unchanged: number }>()
      for (const { id: other, beats } of rows) {
        const before = others.get(other)
        seen.set(other, { beats, unchanged: before?.beats === beats ? before.unchanged + 1 : 0 })
      }
      others = seen
    } catch (error) {
      // Others could not beat either. Those that are known to be gone stay gone.
      for (const other of others.values()) if (other.unchanged < roundsUntilGone) other.unchanged = 0
      log.warn({ err: error }, 'process heartbeat failed')
    }
  }

  const schedule = (): void => {
    if (stopped) return
    timer = setTimeout(() => void round().then(schedule), beatEveryMs)
    timer.unref()
  }

  return {
    name: () => name,
    isTrusted: (given) => given === name && elapsedMs() < trustedUntil,
    gone: () =>
      [...others].flatMap(([other, { beats, unchanged }]) =>
        beats < 0 || unchanged >= roundsUntilGone ? [other] : [],
      ),
    start: async () => {
      await round()
      schedule()
    },
    round,
    sweep: () => db.change(forgetProcesses, { before: new Date(systemClock.millis() - rememberedMs) }),
    stop: async () => {
      if (!timer) return
      stopped = true
      clearTimeout(timer)
      await db.change(endProcess, { id: name, at: systemClock.now() }).catch((error: unknown) => {
        log.warn({ err: error }, 'process heartbeat not ended')
      })
    },
  }
}
