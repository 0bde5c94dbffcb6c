import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../../api/client.ts'
import { useMode } from '../../api/mode.ts'
import type { paths } from '../../api/schema.gen.ts'
import { daysOf, deliveryFigures, seriesOf } from '../../parts/figures.ts'
import { Totals } from '../../parts/totals.tsx'
import { analytics } from '../../strings/analytics.ts'
import { overview } from '../../strings/overview.ts'
import { StatusDot } from '../../ui/badge.tsx'
import { buttonClasses } from '../../ui/button.tsx'
import { ErrorNote } from '../../ui/error-note.tsx'
import { ChartSkeleton, LazyChart } from '../../ui/lazy-chart.tsx'
import { Section } from '../../ui/templates.tsx'

type Overview = paths['/api/internal/overview']['get']['responses'][200]['content']['application/json']

const pages = {
  brands: '/senders/brands',
  campaigns: '/senders/brands',
  phone_numbers: '/senders/numbers',
  dlt: '/senders/dlt',
} as const

/** Endpoints that fail, and registrations that somebody else has to decide on. */
const Attention = ({ of }: { of: Overview }) => {
  const pending = Object.entries(of.pending_registrations).filter(([, count]) => count > 0)
  if (of.unhealthy_webhooks.length + pending.length === 0) return null
  return (
    <Section title={overview.attention}>
      <ul className="flex flex-col gap-2">
        {of.unhealthy_webhooks.map(({ id, url, enabled, consecutive_failures }) => (
          <li key={id} className="flex min-w-0 flex-wrap items-center gap-x-3 text-sm">
            <StatusDot tone="bad">{enabled ? overview.failing(consecutive_failures) : overview.disabled}</StatusDot>
            <Link to={'/webhooks'} search={{ open: id }} className="min-w-0 truncate font-mono hover:underline">
              {url}
            </Link>
          </li>
        ))}
        {pending.map(([kind, count]) => (
          <li key={kind} className="text-sm">
            <Link to={pages[kind as keyof typeof pages]} className="hover:underline">
              <StatusDot tone="warn">{overview.pending[kind as keyof typeof pages](count)}</StatusDot>
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  )
}

/** What happened to messages lately. Nothing is shown before the first message. */
export const RecentDays = () => {
  const environment = useMode()
  const { data, error } = useQuery({
    queryKey: ['overview', environment],
    queryFn: () => unwrap(api.GET('/api/internal/overview', { params: { query: { environment } } })),
    refetchInterval: 60_000,
  })
  if (error) return <ErrorNote error={error} />
  if (!data) return <ChartSkeleton />
  const { days, last_30_days: month } = data
  return (
    <>
      <Attention of={data} />
      {Object.values(month).some((count) => count > 0) && (
        <section className="flex flex-col gap-3">
          <header className="flex items-center justify-between gap-2">
            <h2 className="font-semibold text-base">{overview.recent}</h2>
            <Link to={'/analytics'} className={buttonClasses('quiet', 'small')}>
              {overview.allFigures}
            </Link>
          </header>
          <Totals rows={days} figures={deliveryFigures} />
          <LazyChart label={analytics.delivery} days={daysOf(days)} series={seriesOf(days, deliveryFigures)} />
        </section>
      )}
    </>
  )
}
