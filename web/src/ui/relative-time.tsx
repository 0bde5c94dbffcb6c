import { useServiceNow } from '../api/service-time.ts'
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

type Props = {
  at: string | null | undefined
  /** It may be in the future. What has happened already is never shown there, even if a clock was set back. */
  due?: boolean
}

/** How long ago, in the viewer's language; the moment in their zone and in UTC on hover. */
export const RelativeTime = ({ at, due = false }: Props) => {
  const now = useServiceNow()
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
        {relativeTo(moment, due ? now : Math.max(now, moment.getTime()))}
      </time>
    </Tooltip>
  )
}
