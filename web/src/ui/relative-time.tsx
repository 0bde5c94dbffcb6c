import { useSyncExternalStore } from 'react'
import { Tooltip } from './tooltip.tsx'

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })
const absolute = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })

export const relativeTo = (at: Date, now: number): string => {
  const seconds = (at.getTime() - now) / 1_000
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1]
  return unit === 'second' && Math.abs(seconds) < 45 ? 'now' : relative.format(Math.round(seconds / size), unit)
}

/** One timer for all times on a page. */
let now = Date.now()
const subscribe = (listener: () => void) => {
  const timer = setInterval(() => {
    now = Date.now()
    listener()
  }, 30_000)
  return () => clearInterval(timer)
}

/** How long ago, in the viewer's language; the moment in their zone and in UTC on hover. */
export const RelativeTime = ({ at }: { at: string | null | undefined }) => {
  const shown = useSyncExternalStore(subscribe, () => now)
  if (!at) return <span className="text-faint">–</span>
  const moment = new Date(at)
  return (
    <Tooltip
      text={
        <>
          {absolute.format(moment)}
          <br />
          {moment.toISOString().replace('T', ' ').slice(0, 19)} UTC
        </>
      }
    >
      <time dateTime={at} className="whitespace-nowrap">
        {relativeTo(moment, shown)}
      </time>
    </Tooltip>
  )
}
