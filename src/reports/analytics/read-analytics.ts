import type { Db } from '../../platform/db/pool.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { dayMs } from '../../platform/ground/units.ts'
import { type Analytics, type AnalyticsQuery, type AnalyticsRow, maxFigureRows } from './shapes.ts'
import { type FiguresRow, figures, type GroupBy, partsOf, readAnalytics as statements } from './store.ts'

/** Without a channel: all. */
export type FiguresQuery = AnalyticsQuery & { channel?: Channel | undefined }

export type ReadAnalytics = (scope: Scope, query: FiguresQuery) => Promise<Analytics>

const rateOf = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 10_000)

const show = ({ day, job_id, variant, ...counts }: FiguresRow): AnalyticsRow => ({
  date: day,
  job: job_id,
  variant,
  ...counts,
  open_rate: rateOf(counts.opened, counts.delivered),
  click_rate: rateOf(counts.clicked, counts.delivered),
  bounce_rate: rateOf(counts.bounced, counts.sent),
  complaint_rate: rateOf(counts.complained, counts.delivered),
  unsubscribe_rate: rateOf(counts.unsubscribed, counts.delivered),
})

const emptyRow = (day: string | null): FiguresRow => {
  const zeros = Object.fromEntries(figures.map((figure) => [figure, 0])) as Record<(typeof figures)[number], number>
  return { day, job_id: null, variant: null, ...zeros }
}

const dateOf = (millis: number): string => new Date(millis).toISOString().slice(0, 10)

/** Adds the days without messages. */
const everyDay = (rows: FiguresRow[], start: number, days: number): FiguresRow[] => {
  const byDay = new Map(rows.map((row) => [row.day, row]))
  return Array.from({ length: days }, (_, i) => {
    const date = dateOf(start + i * dayMs)
    return byDay.get(date) ?? emptyRow(date)
  })
}

const statementFor = (by: GroupBy, { job, variant }: AnalyticsQuery) => {
  if (job !== undefined) return statements.ofJob
  return by === 'day' && variant === undefined ? statements.byDay : statements.byJob
}

export const makeReadAnalytics =
  ({ db, clock }: { db: Db; clock: Clock }): ReadAnalytics =>
  async ({ orgId, tenantId, environment, projectId }, query) => {
    const { days, job, variant, channel } = query
    const by = query.group_by ?? 'day'
    const now = clock.millis()
    const start = now - (now % dayMs) - (days - 1) * dayMs
    const statement = statementFor(by, query)
    const rows = await db.rows(statement, {
      orgId,
      environment,
      tenantId: tenantId ?? '',
      projectId,
      from: dateOf(start),
      by,
      job: job ?? null,
      variant: variant ?? null,
      channel: channel ?? null,
      parts: statement === statements.byDay ? partsOf.days(channel) : partsOf.jobs(channel),
      limit: maxFigureRows,
    })
    if (by === 'job' && job === undefined && variant === undefined && rows.at(-1)?.job_id !== null) {
      rows.push(emptyRow(null))
    }
    return {
      group_by: query.group_by ?? null,
      days,
      from: new Date(start).toISOString(),
      to: new Date(now).toISOString(),
      data: (by === 'day' ? everyDay(rows, start, days) : rows).map(show),
    }
  }
