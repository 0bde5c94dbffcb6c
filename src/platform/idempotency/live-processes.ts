/**
 * Finds out which processes of the service are gone, so that nobody waits for their requests. Each process adds to its
 * beats in the database, and reads those of the others. A process without a new beat for some time is gone. The time is
 * measured by the process that judges, so clocks are not compared.
 */
import type { Db } from '../db/pool.ts'
import { systemClock } from '../ground/clock.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import { beat, endProcess, forgetProcesses } from './store.ts'

export const beatEveryMs = 4_000
/** A process is gone at the first round of another one that is this long after its last beat. */
export const goneAfterMs = 16_000
/** A process that could not add to its beats for this long, which is shorter, does nothing more under its claims. */
export const actsForMs = 12_000
/** After the database was away, others first get the time to record what they have sent. */
export const graceMs = 8_000
/** Longer than any claim is locked. */
const rememberedMs = 3_600_000

type Needs = { db: Pick<Db, 'rows' | 'change'>; log: Log; elapsedMs?: () => number }

export const makeLiveProcesses = ({ db, log, elapsedMs = () => performance.now() }: Needs) => {
  let name = newId('request')
  /** The others, with the time at which a new beat of theirs was seen. */
  let others = new Map<string, { beats: number; seenAt: number }>()
  let gone: string[] = []
  let trustedUntil = 0
  let failedAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const round = async (): Promise<void> => {
    const startedAt = elapsedMs()
    if (startedAt >= trustedUntil) name = newId('request')
    try {
      const rows = await db.rows(beat, { id: name, at: systemClock.now() })
      trustedUntil = startedAt + actsForMs
      const readAt = elapsedMs()
      const seen: typeof others = new Map()
      for (const { id, beats } of rows) {
        const before = others.get(id)
        seen.set(id, { beats, seenAt: before?.beats === beats ? before.seenAt : readAt })
      }
      others = seen
      const isGone = (seenAt: number) => startedAt - seenAt >= goneAfterMs && startedAt - failedAt >= graceMs
      gone = [...others].flatMap(([id, { beats, seenAt }]) => (beats < 0 || isGone(seenAt) ? [id] : []))
    } catch (error) {
      failedAt = elapsedMs()
      log.warn({ err: error }, 'process heartbeat failed')
    }
  }

  const schedule = (): void => {
    if (stopped) return
    timer = setTimeout(() => void round().then(schedule), beatEveryMs)
    timer.unref()
  }

  return {
    /** The present name of this process. It gets a new one after a time in which others may have thought it gone. */
    name: (): string => name,
    /** Whether the process with this name is this one, and the others believe that it lives. */
    isTrusted: (given: string): boolean => given === name && elapsedMs() < trustedUntil,
    /** The names of processes that are gone. */
    gone: (): string[] => gone,
    /** Adds the first beat. Claims are made after it. */
    start: async (): Promise<void> => {
      await round()
      schedule()
    },
    /** One round now. The timer calls it every few seconds. */
    round,
    /** Forgets processes that ended long ago. */
    sweep: (): Promise<number> => db.change(forgetProcesses, { before: new Date(systemClock.millis() - rememberedMs) }),
    /** For a process whose requests are all answered. */
    stop: async (): Promise<void> => {
      if (!timer) return
      stopped = true
      clearTimeout(timer)
      await db.change(endProcess, { id: name, at: systemClock.now() }).catch((error: unknown) => {
        log.warn({ err: error }, 'process heartbeat not ended')
      })
    },
  }
}

export type LiveProcesses = ReturnType<typeof makeLiveProcesses>
