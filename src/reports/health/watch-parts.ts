/** Records once a minute which parts of the service work, and shows it. */
import { inChunks } from '../../platform/db/in-chunks.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { dayMs, minuteMs } from '../../platform/ground/units.ts'
import { deleteOldProbes, insertProbes, latestProbes, type PartDay, probesByDay } from './store.ts'

const keptDays = 30
const chunk = 5_000
const probeMs = 5_000
/** An older state says nothing about now: the worker that records it is not running. */
const staleMs = 3 * minuteMs
/** The summary reads a month of probes, which change once a minute. */
const summaryForMs = 30_000

export type PartStatus = {
  part: string
  state: 'up' | 'down' | 'unknown'
  checkedAt: Date | null
  minutes: number
  up: number
  days: PartDay[]
}

/** Resolves to whether the part works. A probe that throws or takes too long means that it does not. */
export type Probe = () => Promise<boolean>

const outcomeOf = async (probe: Probe): Promise<{ up: boolean; tookMs: number }> => {
  const began = performance.now()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), probeMs)
  })
  const up = await Promise.race([Promise.try(probe).catch(() => false), late])
  clearTimeout(timer)
  return { up, tookMs: Math.round(performance.now() - began) }
}

export const makeHealth = ({ db, clock, probes }: { db: Db; clock: Clock; probes: Record<string, Probe> }) => {
  const parts = Object.keys(probes)
  let summary: { at: number; days: Promise<PartDay[]> } | undefined

  const readDays = (): Promise<PartDay[]> => {
    const at = clock.millis()
    if (summary && at - summary.at < summaryForMs) return summary.days
    const days = db.rows(probesByDay, { since: new Date(at - keptDays * dayMs) })
    summary = { at, days }
    days.catch(() => {
      summary = undefined
    })
    return days
  }

  return {
    /** Probes every part. Returns how many are down. */
    record: async () => {
      const outcomes = await Promise.all(Object.values(probes).map(outcomeOf))
      await db.change(insertProbes, {
        parts,
        states: outcomes.map(({ up }) => (up ? 'up' : 'down')),
        tookMs: outcomes.map(({ tookMs }) => tookMs),
        minute: new Date(Math.floor(clock.millis() / minuteMs) * minuteMs),
      })
      return outcomes.filter(({ up }) => !up).length
    },
    /** Deletes probes after 30 days. */
    sweep: async () => {
      const before = new Date(clock.millis() - keptDays * dayMs)
      return inChunks(chunk, () => db.change(deleteOldProbes, { before, limit: chunk }))
    },
    read: async (): Promise<PartStatus[]> => {
      const since = new Date(clock.millis() - staleMs)
      const [latest, days] = await Promise.all([db.rows(latestProbes, { parts, since }), readDays()])
      return parts.map((part) => {
        const now = latest.find((row) => row.part === part)
        const own = days.filter((row) => row.part === part)
        const sum = (name: 'minutes' | 'up') => own.reduce((total, row) => total + row[name], 0)
        const state = now?.state ?? 'unknown'
        return { part, state, checkedAt: now?.minute ?? null, minutes: sum('minutes'), up: sum('up'), days: own }
      })
    },
  }
}

export type Health = ReturnType<typeof makeHealth>
