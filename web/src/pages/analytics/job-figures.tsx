import { Link } from '@tanstack/react-router'
import { type Figure, type FigureFilters, type FiguresRow, useFigures } from '../../parts/figures.ts'
import { analytics } from '../../strings/analytics.ts'
import { ErrorNote } from '../../ui/error-note.tsx'
import { type Column, Table } from '../../ui/table.tsx'

const figureColumn = (figure: Figure, className = ''): Column<FiguresRow> => ({
  id: figure,
  header: analytics.figures[figure],
  align: 'right',
  className,
  cell: (row) => row[figure].toLocaleString('en'),
})

const columns: Column<FiguresRow>[] = [
  {
    id: 'job',
    header: analytics.job,
    cell: ({ job }) =>
      job === null ? (
        analytics.otherMessages
      ) : (
        <Link
          to={'/messages'}
          search={{ view: 'jobs', open: job }}
          className="block max-w-36 truncate font-mono text-accent hover:underline sm:max-w-80"
        >
          {job}
        </Link>
      ),
  },
  figureColumn('sent'),
  figureColumn('delivered'),
  figureColumn('bounced', 'hidden md:table-cell'),
  figureColumn('complained', 'hidden lg:table-cell'),
  figureColumn('opened', 'hidden sm:table-cell'),
  figureColumn('clicked', 'hidden md:table-cell'),
  figureColumn('unsubscribed', 'hidden lg:table-cell'),
]

export const JobFigures = ({ filters }: { filters: FigureFilters }) => {
  const { data, error } = useFigures(filters, 'job')
  return (
    <section className="flex flex-col gap-2">
      <div>
        <h2 className="font-semibold text-base">{analytics.jobs}</h2>
        <p className="text-muted text-sm">{analytics.jobsHelp}</p>
      </div>
      <ErrorNote error={error} />
      {!error && (
        <Table label={analytics.jobs} columns={columns} rows={data?.data} rowKey={({ job }) => job ?? 'others'} />
      )}
    </section>
  )
}
