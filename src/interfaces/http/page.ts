import { z } from 'zod'
import { givenInstant, patternText } from '../../platform/ground/bounded-text.ts'
import { decodeCursor, encodeCursor, maxCursorLength, type Position } from '../../platform/ground/cursor.ts'
import { eachRefused, refusing, tenantByHeader } from '../../platform/ground/refused-fields.ts'
import { examplesOf } from './openapi/examples.ts'

/**
 * Filters of the same lists in the dashboard. Here the key decides what a list shows, and a list that ignored a filter
 * would show more than was asked for.
 */
const filtersOfTheDashboard = {
  tenant_id: tenantByHeader,
  environment: 'The key decides the environment.',
  ...eachRefused(['q', 'audience_id', 'job_id', 'id'], 'This list has no such filter.'),
}

/** The query of a list without the filters that it does not have. */
export const refusingFilters = <S extends z.ZodObject>(query: S): S => {
  const others = Object.entries(filtersOfTheDashboard).filter(([name]) => !Object.hasOwn(query.shape, name))
  return refusing(query, Object.fromEntries(others))
}

/** The `limit` and `cursor` parameters of every list under /api/v1. An empty cursor requests the first page. */
const limitAndCursor = z.object({
  limit: patternText(/^\d{1,3}$/, 3, 'Must be a whole number from 1 to 100.')
    .transform(Number)
    .pipe(z.number().min(1, 'Must be 1 to 100.').max(100, 'Must be 1 to 100.'))
    .default(20)
    .meta({ description: 'The number of items per page, 1 to 100.', type: 'integer' }),
  cursor: z
    .string()
    .transform((text, context): Position | undefined => {
      if (text === '') return undefined
      const position = decodeCursor(text)
      if (!position) context.addIssue({ code: 'custom', params: { cursor: true }, message: 'The cursor is invalid.' })
      return position
    })
    .optional()
    .meta({
      description: 'The `next_cursor` of the previous page, unchanged.',
      pattern: `^[A-Za-z0-9_-]{0,${maxCursorLength}}$`,
    }),
})

export const pageQuery = refusingFilters(limitAndCursor)

/** The query of a list that has filters. */
export const filteredPage = <S extends z.core.$ZodLooseShape>(filters: S) =>
  refusingFilters(limitAndCursor.extend(filters))

const instant = givenInstant.transform((text) => new Date(text)).optional()

/** The filters of a list by time. `what` is what it returns, as in "emails created". */
export const timeRange = (what: string) => ({
  created_after: instant.meta({
    description: `Return only ${what} at or after this time, in ISO 8601 with an offset.`,
    examples: ['2026-01-01T00:00:00Z'],
  }),
  created_before: instant.meta({
    description: `Return only ${what} at or before this time, in ISO 8601 with an offset.`,
    examples: ['2027-01-01T00:00:00Z'],
  }),
})

export const pageOf = <T extends z.ZodType>(item: T) =>
  z
    .object({
      data: z.array(item).describe('The items of the page, newest first.'),
      has_more: z.boolean().describe('Whether there is another page.'),
      next_cursor: z.string().nullable().describe('Pass it as `cursor` to get the next page. `null` on the last page.'),
    })
    .meta({ examples: examplesOf(item).map((value) => ({ data: [value], has_more: false, next_cursor: null })) })

export type Listed = { created_at: Date; id: string }

/** Expects up to `limit + 1` rows: the extra row shows that there is another page. */
export const page = <R extends Listed, T>(rows: R[], limit: number, show: (row: R) => T) => {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    data: shown.map(show),
    has_more: last !== undefined,
    next_cursor: last ? encodeCursor({ createdAt: last.created_at.toISOString(), id: last.id }) : null,
  }
}
