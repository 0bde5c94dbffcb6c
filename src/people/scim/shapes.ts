/** Requests and responses of the directory's settings in the dashboard. */
import { z } from 'zod'
import { patternText } from '../../platform/ground/bounded-text.ts'

const tokenName = patternText(/\S/, 80, 'Enter a name.')
  .max(80, 'Must be at most 80 characters.')
  .transform((text) => text.trim())

export const CreateScimToken = z.object({
  name: tokenName,
  expires_in_days: z.number().int().min(1).max(3_650).nullable().optional(),
})

export const ScimToken = z.strictObject({
  id: z.string(),
  name: z.string(),
  created_by: z.string().nullable(),
  created_at: z.string(),
  expires_at: z.string().nullable(),
  last_used_at: z.string().nullable(),
})
export const CreatedScimToken = ScimToken.extend({ token: z.string() })

const directoryRoles = ['developer', 'member', 'viewer'] as const

/** The role of an owner has an error of its own, which says why. */
const givenRole = z.enum([...directoryRoles, 'owner'], 'Must be developer, member or viewer.')

const groupName = patternText(/\S/, 256, 'Enter the name of a group.')
  .max(256, 'Must be at most 256 characters.')
  .transform((text) => text.trim())

export const PutScimMapping = z.object({
  default_role: givenRole.optional(),
  groups: z
    .array(z.object({ display_name: groupName, role: givenRole }))
    .max(1_000)
    .optional(),
  /** Ignored, so that a mapping that was read can be sent back. */
  scim_base_url: z.string().max(2_000).optional(),
})

export const ScimMapping = z.strictObject({
  default_role: z.enum(directoryRoles),
  groups: z.array(z.strictObject({ display_name: z.string(), role: z.enum(directoryRoles) })),
  scim_base_url: z.string(),
})
