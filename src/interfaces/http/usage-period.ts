/** The month that a request asks the usage of. */
import { z } from 'zod'
import { isReadablePeriod, monthOf } from '../../customers/usage/periods.ts'
import { patternText } from '../../platform/ground/bounded-text.ts'
import { invalid } from '../../platform/ground/errors.ts'

export const periodQuery = z.object({
  period: patternText(/^\d{4}-(?:0[1-9]|1[0-2])$/, 7, 'Must be a month such as 2026-03.')
    .optional()
    .meta({ description: 'A UTC month such as `2026-03`, up to 24 months back. Defaults to the current month.' }),
})

export const periodOf = (requested: string | undefined, now: Date): string => {
  const period = requested ?? monthOf(now)
  if (!isReadablePeriod(period, now)) {
    throw invalid(['period'], 'custom', 'Must be the current month or one of the 24 before it, such as 2026-03.')
  }
  return period
}
