import { z } from 'zod'
import { givenId } from '../ground/bounded-text.ts'
import { formatRange, parseRange } from '../ground/ip-address.ts'
import { scopes } from './scopes.ts'

/** Longer than any range, with spaces around it. */
const maxCidrLength = 100

const cidr = z
  .string()
  .max(maxCidrLength)
  .transform((text, context) => {
    const range = parseRange(text.trim())
    if (!range) {
      context.addIssue({
        code: 'custom',
        message: 'Must be an IPv4 or IPv6 address, or a range in CIDR notation such as 192.0.2.0/24.',
      })
    }
    return range ? formatRange(range) : ''
  })

const name = z.string().trim().min(1).max(100)
const scopeList = z
  .array(z.enum(scopes))
  .min(1)
  .max(scopes.length)
  .transform((list) => [...new Set(list)])
// An empty list is rejected, because it could mean either "no domain" or "any domain".
const domainIds = z.array(givenId).min(1).max(100)
const cidrs = z
  .array(cidr)
  .min(1)
  .max(50)
  .transform((list) => [...new Set(list)])
const days = z.int().min(1).max(3650)
const rate = z.int().min(1).max(6000)

/** Rejects unknown fields, so that a misspelled restriction is never silently ignored. */
export const CreateKey = z
  .strictObject({
    name: name.default('API key'),
    scopes: scopeList.optional().meta({ description: 'Defaults to all scopes.' }),
    environment: z
      .enum(['live', 'test'])
      .optional()
      .meta({ description: 'Defaults to the environment of the key that makes the request.' }),
    tenant_id: givenId.nullable().optional(),
    project_id: givenId.nullable().optional(),
    allowed_domain_ids: domainIds.nullable().optional(),
    allowed_cidrs: cidrs.nullable().optional(),
    expires_in_days: days.nullable().optional(),
    rate_limit_per_minute: rate.nullable().optional(),
  })
  .meta({ id: 'CreateKey' })
export type CreateKey = z.output<typeof CreateKey>

/** An omitted field keeps its value. An explicit null removes the restriction. */
export const PatchKey = z
  .strictObject({
    name: name.optional(),
    scopes: scopeList.optional(),
    tenant_id: givenId.nullable().optional(),
    allowed_domain_ids: domainIds.nullable().optional(),
    allowed_cidrs: cidrs.nullable().optional(),
    expires_in_days: days.nullable().optional().meta({ description: 'Days from the time of this request.' }),
    rate_limit_per_minute: rate.nullable().optional(),
  })
  .meta({ id: 'PatchKey' })
export type PatchKey = z.output<typeof PatchKey>

const at = z.iso.datetime()

export const Key = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    environment: z.enum(['live', 'test']),
    prefix: z.string(),
    last_four: z.string(),
    scopes: z.array(z.enum(scopes)),
    tenant_id: z.string().nullable(),
    project_id: z.string().nullable(),
    allowed_domain_ids: z.array(z.string()).nullable(),
    allowed_cidrs: z.array(z.string()).nullable(),
    rate_limit_per_minute: z.int().nullable(),
    expires_at: at.nullable(),
    last_used_at: at.nullable(),
    created_at: at,
    revoked_at: at.nullable(),
  })
  .meta({ id: 'Key' })

export const CreatedKey = z
  .strictObject({ id: z.string(), name: z.string(), environment: z.enum(['live', 'test']), key: z.string() })
  .extend(Key.omit({ id: true, name: true, environment: true }).shape)
  .meta({ id: 'CreatedKey' })

export const RevokedKey = z.strictObject({ id: z.string(), revoked_at: at }).meta({ id: 'RevokedKey' })
