import { z } from 'zod'
import { pageQuery } from '../page.ts'

/**
 * The `limit` and `cursor` parameters of a list of the dashboard. Unlike under /api/v1, an invalid limit falls back to
 * the default, and one above the maximum is lowered to it.
 */
export const listQuery = ({ fallback = 20, max = 100 }: { fallback?: number; max?: number } = {}) =>
  z.object({
    limit: z
      .string()
      .max(1_000)
      .optional()
      .transform((text) => (text && /^0*[1-9]\d*$/.test(text) ? Math.min(Number(text), max) : fallback)),
    cursor: pageQuery.shape.cursor,
  })

/** The wrapper of every list. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z.strictObject({ data: z.array(item), has_more: z.boolean(), next_cursor: z.string().nullable() })

/** A list that is never paged. */
export const wholeList = <T>(data: T[]): { data: T[]; has_more: false; next_cursor: null } => ({
  data,
  has_more: false,
  next_cursor: null,
})
