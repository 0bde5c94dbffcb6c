/** The measures of a soak, and how much each may grow. docs/operations.md lists them. */
import { judgeGrowth, median, type Point, type Tolerance, unexplainedBytes, type Verdict } from './growth.ts'
import type { Plan } from './plan.ts'
import type { Latency, SoakPoint, TableSize } from './sampler.ts'

export type Judged = { measure: string; unit: string; verdict: Verdict; tolerance: Tolerance }

const mb = 1_048_576

export const tolerances = {
  /** A process keeps memory that it may need again, so its resident memory creeps up for a while. */
  rss: { relative: 0.2, absolute: 48 * mb },
  heap: { relative: 0.2, absolute: 24 * mb },
  /** Connections to clients, the relay and receivers come and go. */
  handles: { relative: 0.2, absolute: 16 },
  /** Items wait for the next poll, for a busy machine, and for steps of the clock by a minute. */
  queue: { relative: 1, absolute: 120 },
  /** In milliseconds at the usual speed of the machine. */
  p50: { relative: 0.5, absolute: 5 },
  p99: { relative: 1, absolute: 50 },
  /** Errors in a thousand requests. */
  errors: { relative: 0.5, absolute: 5 },
  /** Bytes that live rows do not explain. Vacuum leaves up to a fifth of a table free before it starts. */
  bytes: { relative: 0.3, absolute: 8 * mb },
  /** Rows that vacuum has not removed, of each live one. */
  dead: { relative: 0.5, absolute: 0.2 },
} satisfies Record<string, Tolerance>

/** A point with fewer calls says too little about its quantiles. */
const minCalls = 10

const seriesOf = (points: readonly SoakPoint[], value: (point: SoakPoint) => number | undefined): Point[] =>
  points.flatMap((point) => {
    const read = value(point)
    return read === undefined ? [] : [{ at: point.at, value: read }]
  })

const namesOf = (points: readonly SoakPoint[], of: (point: SoakPoint) => string[]): string[] =>
  [...new Set(points.flatMap(of))].sort()

/**
 * Latencies at the usual speed of the machine: divided by those of a bare request with `select 1` at the same time. Other
 * programs slow both.
 */
const judgeLatencies = (points: readonly SoakPoint[]): Judged[] => {
  const judge = (operation: string, key: 'p50' | 'p99', usual: number): Judged => {
    const adjusted = ({ latencies, probe }: SoakPoint): number | undefined => {
      const latency = latencies[operation]
      if (!latency || latency.count < minCalls || probe.count < minCalls) return undefined
      return (latency[key] / probe[key]) * usual
    }
    const verdict = judgeGrowth(seriesOf(points, adjusted), tolerances[key])
    return { measure: `${key} of ${operation}`, unit: 'ms', verdict, tolerance: tolerances[key] }
  }
  const usual = (key: keyof Latency) => median(points.map(({ probe }) => probe[key]))
  return namesOf(points, ({ latencies }) => Object.keys(latencies)).flatMap((operation) => [
    judge(operation, 'p50', usual('p50')),
    judge(operation, 'p99', usual('p99')),
  ])
}

const tableOf = (point: SoakPoint, name: string): TableSize | undefined =>
  point.tables.find(({ table }) => table === name)

/** The tolerance is a share of what the rows of the last point explain. */
const judgeTable = (
  points: readonly SoakPoint[],
  name: string,
  key: 'heapBytes' | 'indexBytes',
): Judged | undefined => {
  const first = points.map((point) => tableOf(point, name)).find((table) => table !== undefined)
  const last = points.map((point) => tableOf(point, name)).findLast((table) => table !== undefined)
  if (!first || !last) return undefined
  const start = { bytes: first[key], live: first.live }
  const unexplained = ({ live, ...table }: TableSize) => unexplainedBytes(start, { bytes: table[key], live })
  const series = seriesOf(points, (point) => {
    const table = tableOf(point, name)
    return table && unexplained(table)
  })
  const explained = last[key] - unexplained(last)
  const tolerance = {
    relative: 0,
    absolute: Math.max(tolerances.bytes.absolute, tolerances.bytes.relative * explained),
  }
  const verdict = { ...judgeGrowth(series, tolerance), level: start.bytes }
  const part = key === 'heapBytes' ? 'table' : 'indexes'
  return { measure: `unexplained bytes of ${name} (${part})`, unit: 'bytes', verdict, tolerance }
}

const judgeTables = (points: readonly SoakPoint[]): Judged[] =>
  namesOf(points, ({ tables }) => tables.map(({ table }) => table))
    .flatMap((name) => [judgeTable(points, name, 'heapBytes') ?? [], judgeTable(points, name, 'indexBytes') ?? []])
    .flat()

export const deadShare = ({ tables }: SoakPoint): number | undefined => {
  const sum = (key: 'live' | 'dead') => tables.reduce((total, table) => total + table[key], 0)
  return tables.length === 0 ? undefined : sum('dead') / Math.max(1, sum('live'))
}

export const judgeSoak = (all: readonly SoakPoint[], { warmUntil, oneProcessUntil }: Plan): Judged[] => {
  const points = all.filter(({ at }) => at > warmUntil)
  const oneProcess = points.filter(({ at }) => at <= oneProcessUntil)
  const judge = (measure: string, unit: string, tolerance: Tolerance, series: Point[]): Judged => ({
    measure,
    unit,
    tolerance,
    verdict: judgeGrowth(series, tolerance),
  })
  return [
    judge(
      'resident memory',
      'bytes',
      tolerances.rss,
      seriesOf(oneProcess, ({ rssBytes }) => rssBytes),
    ),
    judge(
      'heap after collections',
      'bytes',
      tolerances.heap,
      seriesOf(oneProcess, ({ heapBytes }) => heapBytes),
    ),
    judge(
      'open file handles',
      'handles',
      tolerances.handles,
      seriesOf(oneProcess, ({ handles }) => handles),
    ),
    judge(
      'errors in 1,000 requests',
      'errors',
      tolerances.errors,
      seriesOf(points, ({ errorsPerThousand }) => errorsPerThousand),
    ),
    judge('dead rows for each live one', 'rows', tolerances.dead, seriesOf(points, deadShare)),
    ...namesOf(points, ({ queues }) => Object.keys(queues)).map((name) =>
      judge(
        `age of queue ${name}`,
        's',
        tolerances.queue,
        seriesOf(points, ({ queues }) => queues[name]),
      ),
    ),
    ...judgeLatencies(points),
    ...judgeTables(points),
  ]
}
