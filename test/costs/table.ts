/** The tables of `npm run -s costs`: what a send costs, of one tree of sources or of two side by side. */
import type { StatementUse } from './database.ts'
import type { ByPart } from './parts.ts'

/** What the sends of one tree cost, per send. */
export type Costs = {
  name: string
  perSecond: number
  /** Microseconds of the main thread by part. */
  parts: ByPart
  /** Microseconds of the main thread that each function took itself. */
  functions: ByPart
  /** Microseconds of all threads of each process. */
  apiUs: number
  workerUs: number
  databaseUs: number
  walBytes: number
  storedBytes: number
  commits: number
  rows: Record<string, number>
  /** `ms`, `calls` and `walBytes` are per send. */
  statements: StatementUse[]
  /** Allocated bytes by part. */
  bytes: ByPart
}

const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((total, n) => total + n, 0)

const show = (n: number): string => (n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2))

const change = (present: number, earlier: number): string =>
  earlier === 0 ? '' : `${present >= earlier ? '+' : ''}${(((present - earlier) / earlier) * 100).toFixed(0)} %`

type Line = { name: string; values: number[] }

/** Aligned columns: the name, the value of each tree with the earlier one first, and the difference. */
const linesOf = (title: string, trees: string[], lines: Line[]): string[] => {
  const rows = lines.map(({ name, values }) => [
    name,
    ...values.map(show),
    ...(values.length === 2 ? [change(values[1] as number, values[0] as number)] : []),
  ])
  const head = [title, ...trees, ...(trees.length === 2 ? ['change'] : [])]
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i]?.length ?? 0)))
  return [head, ...rows].map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number))).join('  '),
  )
}

/** One line for each name that costs at least `least` in one of the trees, the most expensive of the last tree first. */
const byName = (all: Record<string, number>[], least: number): Line[] => {
  const names = [...new Set(all.flatMap((counts) => Object.keys(counts)))]
  const lines = names.map((name) => ({ name, values: all.map((counts) => counts[name] ?? 0) }))
  const order = (line: Line) => line.values.at(-1) as number
  return lines.filter(({ values }) => values.some((n) => n >= least)).sort((a, b) => order(b) - order(a))
}

const longestText = 90
const shortened = (text: string): string => (text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text)

const byStatement = (statements: StatementUse[], of: (statement: StatementUse) => number): Record<string, number> => {
  const sums: Record<string, number> = {}
  for (const statement of statements) {
    const name = shortened(statement.text)
    sums[name] = (sums[name] ?? 0) + of(statement)
  }
  return sums
}

/** `costs` has the earlier tree first, if there are two. `functions` is how many functions to list. */
export const costTables = (costs: Costs[], functions: number): string[] => {
  const trees = costs.map(({ name }) => name)
  const total = (name: string, of: (cost: Costs) => number): Line => ({ name, values: costs.map(of) })
  return [
    ...linesOf('per send', trees, [
      total('sends per second', ({ perSecond }) => perSecond),
      total('main thread, µs', ({ parts }) => sum(parts)),
      total('API process, all threads, µs', ({ apiUs }) => apiUs),
      total('worker, all threads, µs', ({ workerUs }) => workerUs),
      total('PostgreSQL, µs', ({ databaseUs }) => databaseUs),
      total('WAL, bytes', ({ walBytes }) => walBytes),
      total('WAL of statements, bytes', ({ statements }) => sum(byStatement(statements, ({ walBytes }) => walBytes))),
      total('tables and indexes, bytes', ({ storedBytes }) => storedBytes),
      total('commits', ({ commits }) => commits),
      total('rows changed', ({ rows }) => sum(rows)),
      total('allocated, bytes', ({ bytes }) => sum(bytes)),
    ]),
    '',
    ...linesOf(
      'main thread by part, µs',
      trees,
      byName(
        costs.map(({ parts }) => parts),
        0.5,
      ),
    ),
    ...(functions > 0
      ? [
          '',
          ...linesOf(
            'main thread by function, µs',
            trees,
            byName(
              costs.map((cost) => cost.functions),
              0,
            ).slice(0, functions),
          ),
        ]
      : []),
    '',
    ...linesOf(
      'allocated by part, bytes',
      trees,
      byName(
        costs.map(({ bytes }) => bytes),
        100,
      ),
    ),
    '',
    ...linesOf(
      'PostgreSQL by statement, µs of execution',
      trees,
      byName(
        costs.map(({ statements }) => byStatement(statements, ({ ms }) => ms * 1_000)),
        1,
      ),
    ),
    '',
    ...linesOf(
      'WAL by statement, bytes',
      trees,
      byName(
        costs.map(({ statements }) => byStatement(statements, ({ walBytes }) => walBytes)),
        10,
      ),
    ),
    '',
    ...linesOf(
      'rows',
      trees,
      byName(
        costs.map(({ rows }) => rows),
        0.01,
      ),
    ),
  ]
}
