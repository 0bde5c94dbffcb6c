import { ChartLine, Download } from 'lucide-react'
import {
  csvOf,
  daysOf,
  deliveryFigures,
  engagementFigures,
  type Figure,
  type FigureFilters,
  type FiguresRow,
  noFigureFilters,
  seriesOf,
  useFigures,
} from '../../parts/figures.ts'
import { Totals } from '../../parts/totals.tsx'
import { analytics } from '../../strings/analytics.ts'
import { Button } from '../../ui/button.tsx'
import { download } from '../../ui/download.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ErrorNote } from '../../ui/error-note.tsx'
import { ChartSkeleton, LazyChart } from '../../ui/lazy-chart.tsx'
import { optionsOf, Select } from '../../ui/select.tsx'
import { FilterBar, Page } from '../../ui/templates.tsx'
import { TenantFilter } from '../../ui/tenant-filter.tsx'
import { useFilters } from '../../ui/use-filters.ts'
import { JobFigures } from './job-figures.tsx'

type FilterProps = { filters: FigureFilters; onChange: (change: Partial<FigureFilters>) => void }

const Filters = ({ filters, onChange }: FilterProps) => (
  <FilterBar>
    <Select
      aria-label={analytics.range}
      value={filters.days}
      onValue={(days) => onChange({ days })}
      options={optionsOf(analytics.ranges)}
    />
    <Select
      aria-label={analytics.channel}
      value={filters.channel}
      onValue={(channel) => onChange({ channel })}
      options={[{ value: '', label: analytics.everyChannel }, ...optionsOf(analytics.channels)]}
    />
    <TenantFilter value={filters.tenant} onValue={(tenant) => onChange({ tenant })} />
  </FilterBar>
)

const shownTotals = Object.keys(analytics.figures) as Figure[]

const Charts = ({ rows }: { rows: readonly FiguresRow[] }) => (
  <>
    <Totals rows={rows} figures={shownTotals} />
    <div className="grid gap-4 xl:grid-cols-2">
      <LazyChart label={analytics.delivery} days={daysOf(rows)} series={seriesOf(rows, deliveryFigures)} />
      <LazyChart label={analytics.engagement} days={daysOf(rows)} series={seriesOf(rows, engagementFigures)} />
    </div>
  </>
)

const NothingSent = () => (
  <EmptyState icon={<ChartLine aria-hidden className="size-8" />} title={analytics.empty}>
    {analytics.emptyHelp}
  </EmptyState>
)

const AnalyticsPage = () => {
  const [filters, change] = useFilters(noFigureFilters)
  const { data, error, isPlaceholderData } = useFigures(filters)
  const rows = data?.data
  const used = rows?.some((row) => shownTotals.some((figure) => row[figure] > 0))
  const save = () => rows && download(`tidings-${rows[0]?.date}-${rows.at(-1)?.date}.csv`, csvOf(rows), 'text/csv')
  return (
    <Page
      title={analytics.title}
      description={analytics.description}
      actions={
        <Button
          icon={<Download aria-hidden className="size-4" />}
          disabled={!rows}
          busy={isPlaceholderData}
          onClick={save}
        >
          {analytics.csv}
        </Button>
      }
    >
      <Filters filters={filters} onChange={change} />
      <ErrorNote error={error} />
      {!rows && !error && <ChartSkeleton />}
      {rows && (used ? <Charts rows={rows} /> : <NothingSent />)}
      {used && <JobFigures filters={filters} />}
    </Page>
  )
}

export default AnalyticsPage
