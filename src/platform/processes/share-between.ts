/** Answers what child processes ask the primary: limits, marks of writes, sums of metrics, and the state of development tools. */
import { withDeadline } from '../ground/with-deadline.ts'
import type { ServedProcess } from './child-process.ts'
import type { Assignment } from './peers.ts'
import { countForProcesses } from './shared-limiter.ts'
import { keepMarksForProcesses } from './shared-marks.ts'
import { makeMetricSums, type ProcessMetrics } from './sum-metrics.ts'

type Needs = { all: ReadonlySet<ServedProcess>; assign: () => Assignment }

/** How long a scrape waits for a process. The sums then contain what that process said before. */
const scrapeMs = 2_000

export const shareBetween = ({ all, assign }: Needs) => {
  const countLimits = countForProcesses()
  const keepMarks = keepMarksForProcesses()
  const sums = makeMetricSums()
  const lastMetrics = new Map<ServedProcess, ProcessMetrics>()

  const scrape = async (): Promise<string> => {
    await Promise.all(
      [...all]
        .filter(({ isRunning }) => isRunning())
        .map(async (process) => {
          const metrics = await withDeadline(scrapeMs, process.wire.ask<ProcessMetrics>('metrics'), () => undefined)
          if (metrics && all.has(process)) lastMetrics.set(process, metrics)
        }),
    )
    return sums.text([...lastMetrics.values()])
  }

  const othersOf = (process: ServedProcess): ServedProcess[] => [...all].filter((other) => other !== process)

  return {
    connect: (process: ServedProcess): void => {
      const { wire } = process
      countLimits(wire)
      keepMarks(wire)
      wire.on('join', assign)
      wire.on('sums', scrape)
      wire.on('last-metrics', (metrics: ProcessMetrics) => {
        lastMetrics.set(process, metrics)
      })
      wire.on('share-offset', async (offsetMs: number) => {
        await Promise.all(othersOf(process).map((other) => other.wire.ask('offset', offsetMs)))
      })
      wire.on('other-codes', async () => {
        const codes = await Promise.all(othersOf(process).map((other) => other.wire.ask<string[]>('codes')))
        return codes.flatMap((texts) => texts ?? [])
      })
    },
    /** The process has ended. What it counted stays in the sums. */
    forget: (process: ServedProcess): void => {
      const last = lastMetrics.get(process)
      lastMetrics.delete(process)
      if (last) sums.ended(last)
    },
  }
}
