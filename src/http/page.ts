import { z } from 'zod'
import { decodeCursor, encodeCursor, type Position } from '../ground/cursor.ts'

/** `limit` and `cursor` of every list under /api/v1. An empty cursor is page one. */
export const pageQuery = z.object({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, 'Takes a whole number from 1 to 100.')
    .transform(Number)
    .pipe(z.number().min(1, 'Takes 1 to 100.').max(100, 'Takes 1 to 100.'))
    .default(20)
    .meta({ description: 'Rows per page, 1 to 100.', type: 'integer' }),
  cursor: z
    .string()
    .transform((text, context): Position | undefined => {
      if (text === '') return undefined
      const position = decodeCursor(text)
      if (!position) context.addIssue({ code: 'custom', params: { cursor: true }, message: 'Unreadable cursor.' })
      return position
    })
    .optional()
    .meta({ description: 'next_cursor of the page before, verbatim.' }),
})

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ data: z.array(item), has_more: z.boolean(), next_cursor: z.string().nullable() })

type Listed = { created_at: Date; id: string }

/** Takes one row more than asked for, to know whether there is another page. */
export const page = <R extends Listed, T>(rows: R[], limit: number, show: (row: R) => T) => {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    data: shown.map(show),
    has_more: last !== undefined,
    next_cursor: last ? encodeCursor({ createdAt: last.created_at.toISOString(), id: last.id }) : null,
  }
}
