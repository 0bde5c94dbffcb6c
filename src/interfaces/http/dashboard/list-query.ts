/** The queries of the lists of the dashboard, and the wrapper of every list. */
import { z } from 'zod'
import { givenId, givenInstant } from '../../../platform/ground/bounded-text.ts'
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

/** The query of a path that shows one item with `?id=`, and a list without it. */
export const oneOrListQuery = listQuery().extend({ id: givenId.optional() })

export const idQuery = z.object({ id: givenId })

/** An empty filter is no filter. */
const emptyIsAbsent = (text: unknown): unknown => (text === '' ? undefined : text)

export const optionalFilter = <T extends z.ZodType>(schema: T) => z.preprocess(emptyIsAbsent, schema.optional())

const instant = optionalFilter(givenInstant.transform((text) => new Date(text)))

export const timeFilters = { created_after: instant, created_before: instant }

export const environmentFilter = optionalFilter(z.enum(['live', 'test']))

/** An unknown id matches nothing. */
export const tenantFilter = optionalFilter(z.string().max(100))

/** A text to search for. A plus sign that is not encoded in a URL arrives as a space. */
export const searchFilter = optionalFilter(
  z
    .string()
    .max(200)
    .transform((text) => text.replace(/^ (?=\d)/, '+')),
)

/** The wrapper of every list. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z.strictObject({ data: z.array(item), has_more: z.boolean(), next_cursor: z.string().nullable() })

export const oneOrListOf = <T extends z.ZodType>(item: T) => z.union([item, listOf(item)])
