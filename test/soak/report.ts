/** The report of a soak in Markdown. */
import { median } from './growth.ts'
import { deadShare, type Judged } from './measures.ts'
import type { Plan } from './plan.ts'
import type { SoakPoint } from './sampler.ts'
import type { SoakResult } from './soak.ts'

type Column = [string, (points: SoakPoint[]) => string]

const mb = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)}`
const known = (values: (number | undefined)[]): number[] => values.filter((value) => value !== undefined)
const middle = (values: (number | undefined)[], show: (value: number) => string): string =>
  known(values).length === 0 ? '–' : show(median(known(values)))
const whole = (value: number): string => String(Math.round(value))
const fine = (value: number): string => value.toFixed(value < 10 ? 2 : 1)

const tableOf = (header: string[], rows: string[][]): string =>
  [
    `| ${header.join(' | ')} |`,
    `|${header.map(() => '---').join('|')}|`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n')

const intervalsOf = (points: SoakPoint[], { intervalSeconds }: Plan): SoakPoint[][] => {
  const count = Math.max(1, Math.round((points.at(-1)?.at ?? 0) / intervalSeconds))
  const within = (at: number) => Math.min(count - 1, Math.floor((at - 1) / intervalSeconds))
  return Array.from({ length: count }, (_, i) => points.filter(({ at }) => within(at) === i))
}

const byInterval = (points: SoakPoint[], plan: Plan, columns: Column[]): string =>
  tableOf(
    ['interval', ...columns.map(([name]) => name)],
    intervalsOf(points, plan).map((of, i) => [String(i + 1), ...columns.map(([, show]) => show(of))]),
  )

const processColumns: Column[] = [
  [
    'resident MB',
    (of) =>
      middle(
        of.map(({ rssBytes }) => rssBytes),
        mb,
      ),
  ],
  [
    'heap MB',
    (of) =>
      middle(
        of.map(({ heapBytes }) => heapBytes),
        mb,
      ),
  ],
  [
    'handles',
    (of) =>
      middle(
        of.map(({ handles }) => handles),
        whole,
      ),
  ],
  [
    'errors per 1,000',
    (of) =>
      middle(
        of.map(({ errorsPerThousand }) => errorsPerThousand),
        fine,
      ),
  ],
  ['dead rows per live row', (of) => middle(of.map(deadShare), fine)],
  [
    'probe p50 / p99 ms',
    (of) =>
      `${middle(
        of.map(({ probe }) => probe.p50),
        fine,
      )} / ${middle(
        of.map(({ probe }) => probe.p99),
        fine,
      )}`,
  ],
]

const operationsIn = (points: SoakPoint[]): string[] =>
  [...new Set(points.flatMap(({ latencies }) => Object.keys(latencies)))].sort()

const latencyRows = (points: SoakPoint[], plan: Plan): string => {
  const intervals = intervalsOf(points, plan)
  const cell = (operation: string) => (of: SoakPoint[]) => {
    const seen = of.flatMap(({ latencies }) => latencies[operation] ?? [])
    return `${middle(
      seen.map(({ p50 }) => p50),
      fine,
    )} / ${middle(
      seen.map(({ p99 }) => p99),
      fine,
    )}`
  }
  return tableOf(
    ['p50 / p99 in ms', ...intervals.map((_, i) => String(i + 1))],
    operationsIn(points).map((operation) => [operation, ...intervals.map(cell(operation))]),
  )
}

const queueRows = (points: SoakPoint[], plan: Plan): string => {
  const intervals = intervalsOf(points, plan)
  const names = [...new Set(points.flatMap(({ queues }) => Object.keys(queues)))].sort()
  const oldest = (name: string) => (of: SoakPoint[]) => whole(Math.max(0, ...of.map(({ queues }) => queues[name] ?? 0)))
  const rows = names.map((name) => [name, ...intervals.map(oldest(name))])
  const used = rows.filter((row) => row.slice(1).some((age) => age !== '0'))
  return tableOf(['oldest item in s', ...intervals.map((_, i) => String(i + 1))], used)
}

/** Bytes for each live row, of the tables that are largest at the end. */
const tableRows = (points: SoakPoint[], plan: Plan, shown = 12): string => {
  const intervals = intervalsOf(points, plan)
  const largest = (points.findLast(({ tables }) => tables.length > 0)?.tables ?? [])
    .toSorted((a, b) => b.heapBytes + b.indexBytes - a.heapBytes - a.indexBytes)
    .slice(0, shown)
  const cell = (name: string) => (of: SoakPoint[]) => {
    const table = of.at(-1)?.tables.find((one) => one.table === name)
    if (!table) return '–'
    return `${whole((table.heapBytes + table.indexBytes) / Math.max(1, table.live))} (${mb(table.heapBytes + table.indexBytes)} MB, ${whole(table.dead)})`
  }
  return tableOf(
    ['bytes per live row (size, dead rows)', ...intervals.map((_, i) => String(i + 1))],
    largest.map(({ table }) => [table, ...intervals.map(cell(table))]),
  )
}

const amount = (value: number, unit: string): string =>
  unit === 'bytes' ? `${mb(value)} MB` : `${fine(value)} ${unit}`

const verdictRows = (judged: Judged[]): string =>
  tableOf(
    ['measure', 'at the start', 'growth', 'allowed', 'verdict'],
    judged.map(({ measure, unit, verdict, tolerance }) => [
      measure,
      amount(verdict.level, unit),
      amount(verdict.growth, unit),
      amount(Math.max(tolerance.absolute, tolerance.relative * verdict.level), unit),
      verdict.grows ? '**grows**' : verdict.judged ? 'level' : 'too few points',
    ]),
  )

const countBy = (kinds: string[]): string[][] =>
  Object.entries(Object.groupBy(kinds, (kind) => kind))
    .map(([kind, same]) => [kind, String(same?.length ?? 0)])
    .sort(([a = ''], [b = '']) => a.localeCompare(b))

const errorRows = ({ errors }: SoakResult['journal']): string =>
  tableOf(
    ['response', 'count'],
    countBy(errors.map(({ kind, disturbed }) => `${kind}${disturbed ? ', during a fault or restart' : ''}`)),
  )

/** Growth that is far from its limit is left out of the report, except for the process itself. */
const isWorthShowing = ({ verdict, tolerance, measure }: Judged): boolean =>
  verdict.grows ||
  !/^(unexplained|age of|p\d\d of)/.test(measure) ||
  verdict.growth > 0.25 * Math.max(tolerance.absolute, tolerance.relative * verdict.level)

export const problemsOf = ({ journal, settled }: SoakResult, judged: Judged[]): string[] => [
  ...judged.filter(({ verdict }) => verdict.grows).map(({ measure }) => `${measure} grows`),
  ...settled.lost.map((line) => `lost: ${line}`),
  ...settled.sentTwice.map((line) => `sent twice: ${line}`),
  ...settled.unannounced.map((line) => `no message.sent arrived: ${line}`),
  ...journal.faults,
]

export const writeReport = (plan: Plan, result: SoakResult, judged: Judged[], command: string): string => {
  const { points, journal, settled } = result
  const problems = problemsOf(result, judged)
  const acknowledged = Object.entries(settled.acknowledged).map(([way, count]) => `${count} ${way}`)
  const shown = judged.filter(isWorthShowing)
  const faults = countBy(journal.disturbances.map(({ what }) => what)).map(([what, count]) => `${count} ${what}`)
  return `# Soak report

\`${command}\` on the ${result.database}: ${problems.length === 0 ? 'passed' : `failed with ${problems.length} problems`}.

- ${journal.requests} requests in ${Math.round(plan.seconds / 60)} minutes; the clock of the service moved ${(result.clockSeconds / 3_600).toFixed(1)} hours ahead
- acknowledged messages: ${[...journal.acknowledged.keys()].length} (${acknowledged.join(', ')}), of which ${settled.lost.length} lost, ${settled.sentTwice.length} sent twice, ${settled.unannounced.length} without their event
- webhook requests: ${result.webhookRequests}
- injected: ${faults.join(', ')}
${
  problems.length === 0
    ? ''
    : `\n## Problems\n\n${problems
        .slice(0, 100)
        .map((line) => `- ${line}`)
        .join('\n')}\n`
}
An interval is ${plan.intervalSeconds / 60} minutes. Faults and restarts, and the 30 seconds after them, are not in the figures.

## The process

${byInterval(points, plan, processColumns)}

## Latencies

${latencyRows(points, plan)}

## Queues

${queueRows(points, plan)}

## Tables

${tableRows(points, plan)}

## Errors

${errorRows(journal)}

## Growth

${judged.length} measures were judged. These gained a quarter of what is allowed or more, or belong to the process:

${verdictRows(shown)}
`
}
