/** Filters that several lists of the dashboard have. An empty filter is no filter. */
import { z } from 'zod'
import { givenInstant } from '../../ground/bounded-text.ts'

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
