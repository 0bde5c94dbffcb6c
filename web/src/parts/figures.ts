/** The figures of messages: what the routes return, and how charts and files show them. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { type Mode, useMode } from '../api/mode.ts'
import type { components, paths } from '../api/schema.gen.ts'
import { analytics } from '../strings/analytics.ts'
import type { Series } from '../ui/plot.tsx'

export type FiguresRow = components['schemas']['AnalyticsRow']
export type Figure = keyof typeof analytics.figures

export const noFigureFilters = { days: '30', channel: '', tenant: '' }
export type FigureFilters = typeof noFigureFilters

type Query = NonNullable<paths['/api/internal/analytics']['get']['parameters']['query']>

/** Filters that the route leaves out are empty. A range that nobody offers is the usual one. */
const queryOf = ({ days, channel, tenant }: FigureFilters, environment: Mode): Query => ({
  days: Number(analytics.ranges[Number(days)] ? days : noFigureFilters.days),
  environment,
  ...(channel in analytics.channels && { channel: channel as 'email' | 'sms' }),
  ...(tenant && { tenant_id: tenant }),
})

export const useFigures = (filters: FigureFilters, groupBy?: 'job') => {
  const query = { ...queryOf(filters, useMode()), ...(groupBy && { group_by: groupBy }) }
  return useQuery({
    queryKey: ['analytics', query],
    queryFn: () => unwrap(api.GET('/api/internal/analytics', { params: { query } })),
    placeholderData: keepPreviousData,
  })
}

export const totalOf = (rows: readonly FiguresRow[], figure: Figure): number =>
  rows.reduce((sum, row) => sum + row[figure], 0)

export const deliveryFigures = ['sent', 'delivered', 'bounced', 'complained'] as const
export const engagementFigures = ['opened', 'clicked', 'unsubscribed'] as const

type Charted = (typeof deliveryFigures)[number] | (typeof engagementFigures)[number]

export const seriesOf = (rows: readonly FiguresRow[], figures: readonly Charted[]): Series[] =>
  figures.map((figure) => ({
    label: analytics.figures[figure],
    color: figure,
    values: rows.map((row) => row[figure]),
  }))

export const daysOf = (rows: readonly FiguresRow[]): string[] => rows.map(({ date }) => date ?? '')

/** Days, figures and rates, named as in the API. No value needs quotes. */
export const csvOf = (rows: readonly FiguresRow[]): string => {
  const columns = [
    'date',
    ...(Object.keys(analytics.figures) as Figure[]),
    'open_rate',
    'click_rate',
    'bounce_rate',
    'complaint_rate',
    'unsubscribe_rate',
  ] as const
  const lines = rows.map((row) => columns.map((column) => row[column] ?? '').join(','))
  return `${[columns.join(','), ...lines].join('\r\n')}\r\n`
}
