import type { ReactNode } from 'react'
import { classes } from './classes.ts'

export type Tone = 'ok' | 'warn' | 'bad' | 'info' | 'neutral'

const dots: Record<Tone, string> = {
  ok: 'bg-ok',
  warn: 'bg-warn',
  bad: 'bg-bad',
  info: 'bg-info',
  neutral: 'bg-faint',
}

/** A state: always a dot and a word, never colour alone. */
export const StatusDot = ({ tone, children }: { tone: Tone; children: ReactNode }) => (
  <span className="inline-flex items-center gap-1.5 whitespace-nowrap text-sm">
    <span aria-hidden className={classes('size-2 shrink-0 rounded-full', dots[tone])} />
    {children}
  </span>
)

const badges: Record<Tone, string> = {
  ok: 'bg-ok-soft text-ok',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-accent-soft text-accent',
  neutral: 'bg-selected text-muted',
}

export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) => (
  <span
    className={classes(
      'inline-flex items-center rounded-sm px-1.5 py-px font-medium text-xs whitespace-nowrap',
      badges[tone],
    )}
  >
    {children}
  </span>
)
