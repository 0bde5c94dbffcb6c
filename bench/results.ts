/** Turns samples into output: one JSON line per result, and RESULTS.md. */
import { median, pairedRatios, rounded } from './figures.ts'

/** The measurement of one contender in one round with one number of clients. */
export type Sample = {
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** Peak resident memory of the contender's process under this load. Absent if it is not a process of ours. */
  rssMb?: number
  /** What the figures do not say. */
  notes?: string[]
  /** The load generator's share of one core. Absent if the contender generates its own load. */
  loadCpuShare?: number
}

/** One sample per round, in order, or the reason why the contender was skipped. */
export type Row = { contender: string; clients: number; samples: Sample[]; skipped?: string }

type Bound = { atLeast: number } | { atMost: number }

export type Target = Bound &
  (
    | { kind: 'ratio'; figure: 'perSecond' | 'p50Ms' | 'p99Ms'; clients: number; of: string; to: string }
    /** The ratio of a contender's p99 to its own p50. */
    | { kind: 'spread'; clients: number; of: string }
    /** The peak, or how much more it is than the peak of another contender. */
    | { kind: 'rss'; clients: number; of: string; above?: string }
    /** The figure itself. It depends on the machine, so use it only where a number is promised. */
    | { kind: 'rate'; clients: number; of: string }
    | { kind: 'p50'; clients: number; of: string }
    /** The ratio of the resident memory of later rounds to that of the first, which comes after the warm-up. */
    | { kind: 'growth'; clients: number; of: string }
  )

export type Outcome = {
  bench: string
  about: string
  /** The contender that all ratios refer to, with the same number of clients. */
  baseline: string
  targets: Target[]
  rows: Row[]
  /** Conditions of the run that help to interpret the figures. */
  notes: string[]
  /** The commit whose contenders were measured in the same run. */
  against?: string | undefined
}

/** The name of a contender that runs a program of another commit. */
export const nameIn = (commit: string, contender: string): string => `${contender} (${commit})`

export type Result = {
  bench: string
  contender: string
  per_second: number
  p50_ms: number
  p99_ms: number
  rss_mb: number | null
  ratio_to: string | null
  ratio: number | null
  /** The same contender of the commit to compare with. Absent without one. */
  against?: string | null
  against_ratio?: number | null
}

const rowOf = (rows: Row[], contender: string, clients: number): Row | undefined =>
  rows.find((row) => row.contender === contender && row.clients === clients && !row.skipped)

type Comparison = { figure: 'perSecond' | 'p50Ms' | 'p99Ms'; clients: number; of: string; to: string }

const ratiosBetween = (rows: Row[], { figure, clients, of, to }: Comparison): number[] | undefined => {
  const [upper, lower] = [rowOf(rows, of, clients), rowOf(rows, to, clients)]
  if (!upper || !lower) return undefined
  return pairedRatios(
    upper.samples.map((sample) => sample[figure]),
    lower.samples.map((sample) => sample[figure]),
  )
}

/** A contender of another commit is compared with the baseline of that commit, if it has one of its own. */
const baselineOf = ({ baseline, rows, against }: Outcome, row: Row): string => {
  const other = against === undefined ? baseline : nameIn(against, baseline)
  const isOther = against !== undefined && row.contender.endsWith(nameIn(against, ''))
  return isOther && rowOf(rows, other, row.clients) ? other : baseline
}

const ratiosToBaseline = (outcome: Outcome, row: Row) =>
  ratiosBetween(outcome.rows, {
    figure: 'perSecond',
    clients: row.clients,
    of: row.contender,
    to: baselineOf(outcome, row),
  })

type Figure = Comparison['figure']

/** The ratios of a contender to the same one of the other commit. Undefined if either was not measured. */
const ratiosToOther = ({ rows, against }: Outcome, { contender, clients }: Row, figure: Figure) =>
  against === undefined
    ? undefined
    : ratiosBetween(rows, { figure, clients, of: contender, to: nameIn(against, contender) })

const peakRss = (samples: Sample[]): number | undefined => {
  const measured = samples.flatMap(({ rssMb }) => (rssMb === undefined ? [] : [rssMb]))
  return measured.length === 0 ? undefined : Math.max(...measured)
}

const growthOf = ([first, ...later]: Sample[]): number | undefined => {
  const peak = peakRss(later)
  return first?.rssMb === undefined || peak === undefined ? undefined : peak / first.rssMb
}

const middle = (row: Row, figure: 'perSecond' | 'p50Ms' | 'p99Ms') =>
  median(row.samples.map((sample) => sample[figure]))

const againstOf = (outcome: Outcome, row: Row): Pick<Result, 'against' | 'against_ratio'> => {
  if (outcome.against === undefined) return {}
  const ratios = ratiosToOther(outcome, row, 'perSecond')
  return {
    against: ratios ? `${nameIn(outcome.against, row.contender)}@${row.clients}` : null,
    against_ratio: ratios ? rounded(median(ratios), 3) : null,
  }
}

/** Skipped contenders have no result; the notes under the table name them instead. */
export const resultsOf = (outcome: Outcome): Result[] =>
  outcome.rows
    .filter((row) => !row.skipped)
    .map((row) => {
      const ratios = ratiosToBaseline(outcome, row)
      const rss = peakRss(row.samples)
      return {
        bench: outcome.bench,
        contender: `${row.contender}@${row.clients}`,
        per_second: rounded(middle(row, 'perSecond'), 1),
        p50_ms: rounded(middle(row, 'p50Ms'), 3),
        p99_ms: rounded(middle(row, 'p99Ms'), 3),
        rss_mb: rss === undefined ? null : rounded(rss, 1),
        ratio_to: ratios ? `${baselineOf(outcome, row)}@${row.clients}` : null,
        ratio: ratios ? rounded(median(ratios), 3) : null,
        ...againstOf(outcome, row),
      }
    })

const figureNames = { perSecond: 'per second', p50Ms: 'p50', p99Ms: 'p99' }

const describeTarget = (target: Target): string => {
  const bound = 'atLeast' in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`
  const clients = target.clients === 1 ? '1 client' : `${target.clients} clients`
  if (target.kind === 'rss') {
    const above = target.above === undefined ? '' : ` above ${target.above}`
    return `resident memory of ${target.of}${above} at ${clients}: ${bound} MB`
  }
  if (target.kind === 'rate') return `${target.of} at ${clients}: ${bound} per second`
  if (target.kind === 'p50') return `p50 of ${target.of} at ${clients}: ${bound} ms`
  if (target.kind === 'growth') return `resident memory of ${target.of} at ${clients}: ${bound} × its first round`
  if (target.kind === 'spread') return `p99 of ${target.of} at ${clients}: ${bound} × its p50`
  return `${figureNames[target.figure]} at ${clients}: ${target.of} ${bound} × ${target.to}`
}

const memoryAbove = (rows: Row[], row: Row, above: string | undefined): number | undefined => {
  const peak = peakRss(row.samples)
  if (above === undefined) return peak
  const least = peakRss(rowOf(rows, above, row.clients)?.samples ?? [])
  return peak === undefined || least === undefined ? undefined : peak - least
}

const measureTarget = (target: Target, rows: Row[]): number | undefined => {
  if (target.kind !== 'ratio') {
    const row = rowOf(rows, target.of, target.clients)
    if (!row) return undefined
    if (target.kind === 'growth') return growthOf(row.samples)
    if (target.kind === 'rate') return middle(row, 'perSecond')
    if (target.kind === 'p50') return middle(row, 'p50Ms')
    if (target.kind === 'rss') return memoryAbove(rows, row, target.above)
    return middle(row, 'p99Ms') / middle(row, 'p50Ms')
  }
  const ratios = ratiosBetween(rows, target)
  return ratios && median(ratios)
}

export type TargetResult = { target: string; measured?: number; verdict: 'met' | 'missed' | 'not measured' }

/** Compares the bound with the exact figure, not with the rounded one. */
export const checkTarget = (target: Target, rows: Row[]): TargetResult => {
  const described = describeTarget(target)
  const measured = measureTarget(target, rows)
  if (measured === undefined) return { target: described, verdict: 'not measured' }
  const met = 'atLeast' in target ? measured >= target.atLeast : measured <= target.atMost
  return { target: described, measured, verdict: met ? 'met' : 'missed' }
}

const grouped = (value: number, digits = 0) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })

/** Three significant digits match the precision of the measurement, from microseconds to seconds. */
const millis = (value: number) => grouped(value, value < 1 ? 3 : value < 100 ? 2 : 0)

const tableLine = (cells: string[]) => `| ${cells.join(' | ')} |`

const lowestToHighest = (ratios: number[]) => `${grouped(Math.min(...ratios), 2)} to ${grouped(Math.max(...ratios), 2)}`

const rowLine = (row: Row, outcome: Outcome): string => {
  const ratios = ratiosToBaseline(outcome, row)
  const rss = peakRss(row.samples)
  return tableLine([
    row.contender,
    String(row.clients),
    grouped(middle(row, 'perSecond')),
    millis(middle(row, 'p50Ms')),
    millis(middle(row, 'p99Ms')),
    rss === undefined ? '' : grouped(rss),
    ratios ? grouped(median(ratios), 2) : '',
    ratios && row.contender !== baselineOf(outcome, row) ? lowestToHighest(ratios) : '',
  ])
}

/** Ratios of the present tree to the other commit, for the contenders that both have. */
const comparisonLines = (outcome: Outcome): string[] => {
  const lines = outcome.rows.flatMap((row) => {
    const ratios = ratiosToOther(outcome, row, 'perSecond')
    if (!ratios) return []
    const other = rowOf(outcome.rows, nameIn(outcome.against ?? '', row.contender), row.clients)
    const [rss, otherRss] = [peakRss(row.samples), peakRss(other?.samples ?? [])]
    return tableLine([
      row.contender,
      String(row.clients),
      grouped(median(ratios), 2),
      lowestToHighest(ratios),
      ...(['p50Ms', 'p99Ms'] as const).map((figure) => grouped(median(ratiosToOther(outcome, row, figure)!), 2)),
      rss === undefined || otherRss === undefined ? '' : grouped(rss / otherRss, 2),
    ])
  })
  if (lines.length === 0) return []
  const heads = ['contender', 'clients', 'per second', 'lowest to highest', 'p50', 'p99', 'RSS']
  const rule = tableLine(['---', ...Array<string>(heads.length - 1).fill('---:')])
  return ['', `The present tree in relation to ${outcome.against}:`, '', tableLine(heads), rule, ...lines]
}

const comparedWith = ' compared with '

const sectionTitle = ({ bench, against }: Outcome): string =>
  against === undefined ? bench : `${bench}${comparedWith}${against}`

const skippedNotes = (rows: Row[]): string[] => {
  const clientsByReason = new Map<string, number[]>()
  for (const { contender, clients, skipped } of rows) {
    if (!skipped) continue
    const reason = `${contender} skipped: ${skipped}`
    clientsByReason.set(reason, [...(clientsByReason.get(reason) ?? []), clients])
  }
  return [...clientsByReason].map(([reason, clients]) => `${reason} (clients: ${clients.join(', ')})`)
}

const loadNote = (rows: Row[]): string[] => {
  const shares = rows.flatMap((row) => {
    const measured = row.samples.flatMap(({ loadCpuShare }) => loadCpuShare ?? [])
    return measured.length ? [{ label: `${row.contender}@${row.clients}`, share: median(measured) }] : []
  })
  const highest = shares.reduce((a, b) => (b.share > a.share ? b : a), { label: '', share: 0 })
  if (!highest.label) return []
  return [`the load generator used at most ${grouped(highest.share * 100)} % of one core (${highest.label})`]
}

export const benchSection = (outcome: Outcome): string => {
  const { about, baseline, rows, targets, notes } = outcome
  const lines = [`## ${sectionTitle(outcome)}`, '', about, '']
  const heads = ['contender', 'clients', 'per second', 'p50 ms', 'p99 ms', 'RSS MB']
  lines.push(tableLine([...heads, `ratio to ${baseline}`, 'lowest to highest']))
  lines.push(tableLine(['---', ...Array<string>(heads.length + 1).fill('---:')]))
  for (const row of rows) if (!row.skipped) lines.push(rowLine(row, outcome))
  lines.push(...comparisonLines(outcome))
  const remarks = [...notes, ...loadNote(rows), ...skippedNotes(rows)]
  if (remarks.length) lines.push('', ...remarks.map((remark) => `- ${remark}`))
  if (targets.length) {
    lines.push('', 'Targets:', '')
    for (const target of targets) {
      const { target: described, measured, verdict } = checkTarget(target, rows)
      lines.push(`- ${described}: ${verdict}${measured === undefined ? '' : ` (${grouped(measured, 2)})`}`)
    }
  }
  return lines.join('\n')
}

export type RunFacts = {
  date: Date
  nodeVersion: string
  cores: number
  command: string
  rounds: number
  measureMs: number
}

export const resultsFile = (facts: RunFacts, outcomes: Outcome[]): string => {
  const head = [
    '# Benchmark results',
    '',
    'Written by `npm run bench`. Do not edit.',
    '',
    tableLine(['date', 'Node', 'cores', 'command']),
    tableLine(['---', '---', '---:', '---']),
    tableLine([facts.date.toISOString().slice(0, 10), facts.nodeVersion, String(facts.cores), `\`${facts.command}\``]),
    '',
    `Contenders run in turns, in an order that changes every round: ${facts.rounds} rounds of ` +
      `${grouped(facts.measureMs / 1000, 1)} s each after a warm-up. Figures are medians over the rounds. A ratio is ` +
      'the median of the ratios within each round, followed by the lowest and highest. RSS is the peak resident ' +
      "memory of the contender's own process under load. Each API that sends has a worker, as in production; its " +
      'memory is not counted. Everything runs on the same machine, so the ratios are more ' +
      'meaningful than the absolute figures.',
  ]
  return `${[head.join('\n'), ...outcomes.map(benchSection)].join('\n\n')}\n`
}

const sectionName = (section: string): string => section.slice('## '.length, section.indexOf('\n'))

const splitSections = (text: string): string[] => text.trimEnd().split(/\n\n(?=## )/)

/** Replaces the sections of some benches in the text of RESULTS.md, and says when and how they were measured. */
export const replaceSections = (text: string, outcomes: Outcome[], { date, command }: RunFacts): string => {
  const note = `measured on ${date.toISOString().slice(0, 10)} with \`${command}\``
  const [head = '', ...sections] = splitSections(text)
  for (const outcome of outcomes) {
    const section = benchSection({ ...outcome, notes: [...outcome.notes, note] })
    const place = sections.findIndex((old) => sectionName(old) === sectionTitle(outcome))
    if (place === -1) sections.push(section)
    else sections[place] = section
  }
  return `${[head, ...sections].join('\n\n')}\n`
}

/** Adds the comparisons of the old text to the new one, because a full run measures the present tree only. */
export const keepComparisons = (oldText: string, text: string): string => {
  const comparisons = splitSections(oldText).filter((section) => sectionName(section).includes(comparedWith))
  return `${[text.trimEnd(), ...comparisons].join('\n\n')}\n`
}
