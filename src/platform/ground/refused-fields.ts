/**
 * Fields that similar requests have and a request refuses. Without this it would ignore them like any unknown field, and
 * the caller would rely on an effect that they do not have.
 */
import { z } from 'zod'

/** For each field, a message that says what to do instead. */
type RefusedFields = Record<string, string>

export const refusedFields = z.registry<RefusedFields>()

/** Returns the same schema. A schema that extends it does not refuse the fields. */
export const refusing = <S extends z.ZodType>(schema: S, fields: RefusedFields): S => {
  refusedFields.add(schema, fields)
  return schema
}

export const eachRefused = (names: readonly string[], message: string): RefusedFields =>
  Object.fromEntries(names.map((name) => [name, message]))

export const tenantByHeader = 'Use a key of the tenant, or name the tenant in X-Service-Tenant-Ref.'
