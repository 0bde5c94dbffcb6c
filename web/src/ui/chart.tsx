/** A line chart of days, with the same figures as a table. Use `LazyChart`: this file brings the chart library. */
import { useState } from 'react'
import { ui } from '../strings/ui.ts'
import { Button } from './button.tsx'
import { type ChartProps, Plot } from './plot.tsx'

const Figures = ({ days, series, label }: ChartProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard
  <section tabIndex={0} aria-label={label} className="max-h-72 overflow-auto">
    <table aria-label={label} className="w-full text-sm">
      <thead className="sticky top-0 bg-canvas text-left text-muted text-xs">
        <tr>
          <th scope="col" className="py-1 pr-2 font-medium">
            {ui.day}
          </th>
          {series.map((one) => (
            <th key={one.label} scope="col" className="px-2 py-1 text-right font-medium">
              {one.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {days.map((day, index) => (
          <tr key={day} className="border-t">
            <td className="whitespace-nowrap py-1 pr-2">{day}</td>
            {series.map((one) => (
              <td key={one.label} className="px-2 py-1 text-right tabular-nums">
                {(one.values[index] ?? 0).toLocaleString('en')}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

const Chart = (props: ChartProps) => {
  const [table, setTable] = useState(false)
  return (
    <figure className="flex min-w-0 flex-col rounded-md border p-3 sm:p-4">
      <figcaption className="mb-2 flex items-center justify-between gap-2">
        <span className="font-medium text-sm">{props.label}</span>
        <Button look="quiet" size="small" className="-mr-2" aria-pressed={table} onClick={() => setTable(!table)}>
          {table ? ui.showChart : ui.showTable}
        </Button>
      </figcaption>
      {table ? <Figures {...props} /> : <Plot {...props} />}
    </figure>
  )
}

export default Chart
