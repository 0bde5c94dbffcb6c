import type { operations } from '../../../api/schema.gen.ts'
import { statusPage } from '../../../strings/data.ts'
import { StatusDot, type Tone } from '../../../ui/badge.tsx'
import { classes } from '../../../ui/classes.ts'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Section } from '../../../ui/templates.tsx'

type Part = operations['getApiInternalStatus']['responses'][200]['content']['application/json']['parts'][number]
type Day = Part['last_30_days']['days'][number]

export const tones: Record<Part['state'], Tone> = { up: 'ok', down: 'bad', unknown: 'neutral' }

const percentOf = (value: number | null): string => (value === null ? statusPage.notChecked : `${value} %`)

const colourOf = (value: number | null): string => {
  if (value === null) return 'bg-selected'
  if (value >= 99.9) return 'bg-ok'
  return value >= 95 ? 'bg-warn' : 'bg-bad'
}

/** A bar for each day, with its figure as text for those who cannot see the colour. */
const Days = ({ name, days }: { name: string; days: readonly Day[] }) => (
  <ol aria-label={statusPage.days(name)} className="flex h-6 gap-0.5">
    {days.map(({ day, up_percent }) => {
      const text = statusPage.day(day, percentOf(up_percent))
      return (
        <li key={day} title={text} className={classes('max-w-4 flex-1 rounded-sm', colourOf(up_percent))}>
          <span className="sr-only">{text}</span>
        </li>
      )
    })}
  </ol>
)

export const PartStatus = ({ part: { part, state, checked_at, last_30_days } }: { part: Part }) => {
  const { up_percent, days } = last_30_days
  const name = statusPage.parts[part] ?? part
  return (
    <Section
      title={name}
      description={up_percent === null ? statusPage.noFigure : statusPage.last30(percentOf(up_percent))}
      actions={<StatusDot tone={tones[state]}>{statusPage.states[state]}</StatusDot>}
    >
      {days.length > 0 && <Days name={name} days={days} />}
      <p className="mt-2 text-muted text-xs">
        {statusPage.checked} <RelativeTime at={checked_at} />
      </p>
    </Section>
  )
}
