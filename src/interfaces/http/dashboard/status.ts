/** /api/internal/status: which parts of the service work, now and over the last 30 days. */
import { z } from 'zod'
import { isoOrNull } from '../../../platform/ground/instant.ts'
import type { Health, PartStatus } from '../../../reports/health/watch-parts.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'

const figures = { minutes: z.number(), up_percent: z.number().min(0).max(100).nullable() }

const Status = z.strictObject({
  state: z.enum(['up', 'down', 'unknown']),
  parts: z.array(
    z.strictObject({
      part: z.string(),
      state: z.enum(['up', 'down', 'unknown']),
      checked_at: z.iso.datetime().nullable(),
      last_30_days: z.strictObject({
        ...figures,
        days: z.array(z.strictObject({ day: z.iso.date(), ...figures })),
      }),
    }),
  ),
})

/** With two decimals, and 100 only if every minute was up. Null without a probe. */
const percent = (up: number, minutes: number): number | null =>
  minutes === 0 ? null : Math.floor((10_000 * up) / minutes) / 100

const shownPart = ({ part, state, checkedAt, minutes, up, days }: PartStatus) => ({
  part,
  state,
  checked_at: isoOrNull(checkedAt),
  last_30_days: {
    minutes,
    up_percent: percent(up, minutes),
    days: days.map((row) => ({ day: row.day, minutes: row.minutes, up_percent: percent(row.up, row.minutes) })),
  },
})

const stateOf = (parts: PartStatus[]): 'up' | 'down' | 'unknown' => {
  if (parts.some(({ state }) => state === 'down')) return 'down'
  return parts.some(({ state }) => state === 'unknown') ? 'unknown' : 'up'
}

export const statusRoutes = ({ health }: { health: Pick<Health, 'read'> }): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/status', bySession('requireSession'), {
    responses: { 200: Status },
    handle: async () => {
      const parts = await health.read()
      return ok({ state: stateOf(parts), parts: parts.map(shownPart) })
    },
  }),
]
