/**
 * The only place that looks inside schemas of Zod. Their definitions (`_zod.def`) are what Zod documents for libraries
 * that read schemas: https://zod.dev/library-authors. How a schema and its checks run is not documented. The version of Zod
 * is pinned, and the tests of compiled schemas and of validation compare both with Zod itself.
 */
import { z } from 'zod'

export type Schema = z.core.$ZodType
export type Check = z.core.$ZodCheck

export const defOf = (schema: Schema): z.core.$ZodTypes['_zod']['def'] => (schema as z.core.$ZodTypes)._zod.def

type CheckDef = z.core.$ZodChecks['_zod']['def'] | z.core.$ZodCustomDef | { check: 'overwrite' }

export const checkDefOf = (check: Check): CheckDef => check._zod.def as CheckDef

/** Whether an object with this field can lack it once it is parsed. */
export const mayBeAbsent = (field: Schema): boolean => field._zod.optout === 'optional'

/** Whether a check reports no issue and leaves the value as it is. */
export const passesCheck = (check: Check, value: unknown): boolean => {
  const payload = { value, issues: [] }
  check._zod.check(payload as never)
  return payload.issues.length === 0 && payload.value === value
}

const settings = { async: false, reportInput: true }

/** Parses like the schema's own `safeParse`, which composes a message for every issue, however many there are. */
export const runSchema = <T>(schema: z.ZodType<T>, input: unknown): z.core.ParsePayload<T> =>
  schema._zod.run({ value: input, issues: [] }, settings) as z.core.ParsePayload<T>

/** The issue with its message. */
export const completeIssue = (issue: z.core.$ZodRawIssue): z.core.$ZodIssue =>
  z.core.util.finalizeIssue(issue, settings, z.core.config())
