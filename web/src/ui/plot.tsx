/** The picture of a chart. Pointing at a day shows its values, and so do the arrow keys. */
import './known-language.ts'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import { ui } from '../strings/ui.ts'
import { useTheme } from './theme.ts'

export type Series = {
  label: string
  /** Sent, delivered, bounced and complained have the same colours everywhere. */
  color: 'sent' | 'delivered' | 'bounced' | 'complained' | 'opened' | 'clicked' | 'unsubscribed'
  values: readonly number[]
}

export type ChartProps = {
  label: string
  /** UTC days, such as `2026-01-15`. */
  days: readonly string[]
  series: readonly Series[]
  height?: number
}

const daySeconds = 86_400
const defaultHeight = 220

const dots: Record<Series['color'], string> = {
  sent: 'bg-(--c-sent)',
  delivered: 'bg-(--c-delivered)',
  bounced: 'bg-(--c-bounced)',
  complained: 'bg-(--c-complained)',
  opened: 'bg-(--c-opened)',
  clicked: 'bg-(--c-clicked)',
  unsubscribed: 'bg-(--c-unsubscribed)',
}

const dayFormat = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
const shownDay = (day: string): string => dayFormat.format(new Date(day))

/** A canvas knows no custom properties, so the browser resolves them. */
const colorOf = (name: string, element: Element): string => {
  const probe = document.createElement('span')
  probe.style.color = `var(--c-${name})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const translucent = (color: string): string => color.replace('rgb(', 'rgba(').replace(')', ', 0.09)')

const axisOf = (element: Element): uPlot.Axis => ({
  stroke: colorOf('muted', element),
  grid: { stroke: colorOf('line', element), width: 1 },
  ticks: { show: false },
  font: '12px system-ui',
})

const optionsOf = ({ series, days, height = defaultHeight }: ChartProps, element: HTMLElement): uPlot.Options => ({
  width: element.clientWidth,
  height,
  legend: { show: false },
  padding: [8, 20, 0, 0],
  cursor: { y: false, drag: { x: false, y: false } },
  tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
  // A chart without messages has a line at zero, not in the middle.
  scales: { y: { range: (_plot, _min, max) => [0, Math.max(4, max * 1.08)] } },
  axes: [
    {
      ...axisOf(element),
      grid: { show: false },
      incrs: [1, 2, 3, 7, 14, 30, 60].map((count) => count * daySeconds),
      space: 64,
      size: 28,
      values: (_plot, splits) => splits.map((seconds) => dayFormat.format(new Date(seconds * 1_000))),
    },
    {
      ...axisOf(element),
      size: 44,
      incrs: [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power)),
      values: (_plot, splits) => splits.map((value) => value.toLocaleString('en', { notation: 'compact' })),
    },
  ],
  series: [
    {},
    ...series.map(({ label, color }, index) => {
      const stroke = colorOf(color, element)
      const fill = index === 0 ? { fill: translucent(stroke) } : {}
      return { label, stroke, width: 1.75, points: { show: days.length <= 2 }, ...fill }
    }),
  ],
})

const dataOf = ({ days, series }: ChartProps): uPlot.AlignedData => [
  days.map((day) => Date.parse(day) / 1_000),
  ...series.map(({ values }) => [...values]),
]

const figureAt = ({ values }: Series, index: number | null): number =>
  index === null ? values.reduce((sum, value) => sum + value, 0) : (values[index] ?? 0)

type ReadOutProps = { days: readonly string[]; series: readonly Series[]; index: number | null }

/** The values of a day, or of all days while none is chosen. It is the legend too. */
const ReadOut = ({ days, series, index }: ReadOutProps) => (
  <div aria-hidden className="mb-2 flex flex-wrap gap-x-3 gap-y-1 text-xs">
    <span className="w-14 text-muted">{index === null ? ui.total : shownDay(days[index] ?? '')}</span>
    {series.map((one) => (
      <span key={one.label} className="inline-flex items-center gap-1.5">
        <span className={`size-2 rounded-full ${dots[one.color]}`} />
        {one.label}
        <span className="min-w-6 font-medium tabular-nums">{figureAt(one, index).toLocaleString('en')}</span>
      </span>
    ))}
  </div>
)

const textOf = ({ days, series }: ChartProps, index: number | null): string =>
  `${index === null ? ui.total : shownDay(days[index] ?? '')}: ${series
    .map((one) => `${one.label} ${figureAt(one, index)}`)
    .join(', ')}`

/** Where a key leads. Undefined for keys that mean nothing here. */
const target = (key: string, index: number | null, last: number): number | undefined => {
  if (key === 'ArrowLeft') return Math.max(0, (index ?? last + 1) - 1)
  if (key === 'ArrowRight') return Math.min(last, (index ?? -1) + 1)
  if (key === 'Home') return 0
  return key === 'End' ? last : undefined
}

export const Plot = (props: ChartProps) => {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const [index, setIndex] = useState<number | null>(null)
  const theme = useTheme()
  const height = props.height ?? defaultHeight
  // The content, not the identity: a parent that renders again must not draw everything again.
  const drawn = JSON.stringify([props.days, props.series, height])
  // biome-ignore lint/correctness/useExhaustiveDependencies: `drawn` contains the figures, and the theme changes colours
  useEffect(() => {
    const element = box.current
    if (!element) return
    const options = optionsOf(props, element)
    const hooks = { setCursor: [(now: uPlot) => setIndex(now.cursor.idx ?? null)] }
    const made = new uPlot({ ...options, hooks }, dataOf(props), element)
    plot.current = made
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    resize.observe(element)
    return () => {
      resize.disconnect()
      made.destroy()
      plot.current = null
      setIndex(null)
    }
  }, [drawn, theme])
  const last = props.days.length - 1
  const onKeyDown = (event: KeyboardEvent) => {
    const next = target(event.key, index, last)
    const made = plot.current
    if (next === undefined || !made) return
    event.preventDefault()
    made.setCursor({ left: made.valToPos(made.data[0][next] as number, 'x'), top: 0 })
  }
  return (
    <>
      <ReadOut days={props.days} series={props.series} index={index} />
      <div
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label={`${props.label}. ${ui.chartKeys}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(last, 0)}
        aria-valuenow={index ?? last}
        aria-valuetext={textOf(props, index)}
        onKeyDown={onKeyDown}
        onBlur={() => plot.current?.setCursor({ left: -10, top: -10 })}
        // Two charts next to each other line up, however long their legends are.
        className="mt-auto w-full rounded-sm"
      />
    </>
  )
}
