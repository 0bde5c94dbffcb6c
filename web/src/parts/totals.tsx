import { analytics } from '../strings/analytics.ts'
import { type Figure, type FiguresRow, totalOf } from './figures.ts'

const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 2 })

/** What a figure is a share of, as the rates of the API have it. */
const wholes: Partial<Record<Figure, 'sent' | 'delivered'>> = {
  delivered: 'sent',
  bounced: 'sent',
  complained: 'delivered',
  opened: 'delivered',
  clicked: 'delivered',
  unsubscribed: 'delivered',
}

const Total = ({ rows, figure }: { rows: readonly FiguresRow[]; figure: Figure }) => {
  const total = totalOf(rows, figure)
  const whole = wholes[figure]
  const of = whole ? totalOf(rows, whole) : 0
  return (
    <div className="min-w-0 rounded-md border px-3 py-2.5">
      <dt className="text-muted text-xs">{analytics.figures[figure]}</dt>
      <dd className="font-semibold text-lg tabular-nums">{total.toLocaleString('en')}</dd>
      <dd className="truncate text-muted text-xs">
        {whole && of > 0 ? `${percent.format(total / of)} ${analytics.rateOf[whole]}` : '\u00a0'}
      </dd>
    </div>
  )
}

/** Figures of the whole time, with their rates. */
export const Totals = ({ rows, figures }: { rows: readonly FiguresRow[]; figures: readonly Figure[] }) => (
  <dl aria-label={analytics.totals} className="grid grid-cols-2 gap-2 sm:grid-cols-4 sm:gap-3">
    {figures.map((figure) => (
      <Total key={figure} rows={rows} figure={figure} />
    ))}
  </dl>
)
