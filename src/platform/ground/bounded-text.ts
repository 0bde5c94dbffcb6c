/** Schemas of texts in requests, each with a maximum length. */
import { z } from 'zod'

/** An id from a caller. It is longer than any real id, so that a wrong id is usually reported as not found. */
export const givenId = z.string().max(100)

/** ISO 8601 sets no limit to the digits of a second. */
export const givenInstant = z.iso.datetime({ offset: true, abort: true }).max(64)

/** A text whose pattern limits its length. `max` only documents that limit, so a long text is reported once. */
export const patternText = (pattern: RegExp, max: number, message: string) =>
  z.string().regex(pattern, { error: message, abort: true }).max(max)
