/** A line or bar chart with the same figures as a table. Load it lazily: it brings the chart library. */
import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import { ui } from '../strings/ui.ts'
import { Button } from './button.tsx'

export type Series = {
  label: string
  /** Sent, delivered, bounced and complained have the same colours everywhere. */
  color: 'sent' | 'delivered' | 'bounced' | 'complained' | 'accent' | 'muted'
  values: readonly (number | null)[]
}

type Props = {
  label: string
  times: readonly string[]
  series: readonly Series[]
  height?: number
  kind?: 'lines' | 'bars'
}

const colorOf = (name: Series['color'], element: Element): string => {
  const probe = document.createElement('span')
  probe.style.color = `var(--c-${name})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const axisOf = (element: Element): uPlot.Axis => ({
  stroke: colorOf('muted', element),
  grid: { stroke: getComputedStyle(element).borderTopColor, width: 1 },
  ticks: { show: false },
  font: '12px system-ui',
})

const optionsOf = ({ series, height = 220, kind }: Props, element: HTMLElement): uPlot.Options => {
  const bars = kind === 'bars' ? uPlot.paths.bars?.({ size: [0.6, 24] }) : undefined
  return {
    width: element.clientWidth,
    height,
    legend: { live: true },
    cursor: { y: false },
    axes: [axisOf(element), { ...axisOf(element), size: 48 }],
    series: [
      {},
      ...series.map(({ label, color }) => ({
        label,
        stroke: colorOf(color, element),
        width: 1.5,
        points: { show: false },
        ...(bars && { paths: bars, fill: colorOf(color, element) }),
      })),
    ],
  }
}

const Plot = (props: Props) => {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const x = props.times.map((time) => Date.parse(time) / 1_000)
    const data = [x, ...props.series.map(({ values }) => [...values])] as uPlot.AlignedData
    const plot = new uPlot(optionsOf(props, element), data, element)
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: props.height ?? 220 }))
    resize.observe(element)
    return () => {
      resize.disconnect()
      plot.destroy()
    }
  }, [props])
  return <div ref={box} role="img" aria-label={props.label} className="w-full border-line" />
}

const Figures = ({ times, series, label }: Props) => (
  <div className="max-h-72 overflow-auto">
    <table aria-label={label} className="w-full text-sm">
      <thead className="sticky top-0 bg-surface text-left text-muted text-xs">
        <tr>
          <th scope="col" className="px-2 py-1 font-medium">
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
        {times.map((time, index) => (
          <tr key={time} className="border-t">
            <td className="px-2 py-1">{time.slice(0, 10)}</td>
            {series.map((one) => (
              <td key={one.label} className="px-2 py-1 text-right tabular-nums">
                {one.values[index] ?? '–'}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const Chart = (props: Props) => {
  const [table, setTable] = useState(false)
  return (
    <figure className="rounded-md border p-3">
      <figcaption className="mb-2 flex items-center justify-between gap-2">
        <span className="font-medium text-sm">{props.label}</span>
        <Button look="quiet" size="small" aria-pressed={table} onClick={() => setTable(!table)}>
          {table ? ui.showChart : ui.showTable}
        </Button>
      </figcaption>
      {table ? <Figures {...props} /> : <Plot {...props} />}
    </figure>
  )
}

export default Chart
