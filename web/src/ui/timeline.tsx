import type { ReactNode } from 'react'
import type { Tone } from './badge.tsx'
import { classes } from './classes.ts'
import { RelativeTime } from './relative-time.tsx'

export type TimelineEntry = { key: string; at: string; title: ReactNode; tone?: Tone; children?: ReactNode }

const rings: Record<Tone, string> = {
  ok: 'border-ok',
  warn: 'border-warn',
  bad: 'border-bad',
  info: 'border-info',
  neutral: 'border-faint',
}

/** What happened to a thing, in order. */
export const Timeline = ({ entries, label }: { entries: readonly TimelineEntry[]; label: string }) => (
  <ol aria-label={label} className="flex flex-col">
    {entries.map(({ key, at, title, tone = 'neutral', children }) => (
      <li key={key} className="relative flex gap-3 pb-4 last:pb-0">
        <span aria-hidden className="absolute top-4 bottom-0 left-[5px] w-px bg-line" />
        <span
          aria-hidden
          className={classes('relative mt-1 size-[11px] shrink-0 rounded-full border-2 bg-canvas', rings[tone])}
        />
        <div className="min-w-0 flex-1">
          <div className="flex flex-wrap items-baseline justify-between gap-x-3">
            <span className="font-medium text-sm">{title}</span>
            <span className="text-muted text-xs">
              <RelativeTime at={at} />
            </span>
          </div>
          {children && <div className="mt-0.5 text-muted text-sm">{children}</div>}
        </div>
      </li>
    ))}
  </ol>
)
