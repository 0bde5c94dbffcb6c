import { z } from 'zod'
import { formatRange, parseRange } from '../ground/ip-address.ts'
import { scopes } from './scopes.ts'

const cidr = z.string().transform((text, context) => {
  const range = parseRange(text.trim())
  if (!range) context.addIssue({ code: 'custom', message: 'Takes an IPv4 or IPv6 address or range.' })
  return range ? formatRange(range) : ''
})

const name = z.string().trim().min(1).max(100)
const scopeList = z
  .array(z.enum(scopes))
  .min(1)
  .transform((list) => [...new Set(list)])
// An empty list could be read as "none" or as "any"; neither is meant by accident.
const domainIds = z.array(z.string()).min(1).max(100)
const cidrs = z
  .array(cidr)
  .min(1)
  .max(50)
  .transform((list) => [...new Set(list)])
const days = z.int().min(1).max(3650)
const rate = z.int().min(1).max(6000)

/** A misspelt restriction must never be dropped in silence, so unknown fields are refused. */
export const CreateKey = z
  .strictObject({
    name: name.default('API key'),
    scopes: scopeList.optional().meta({ description: 'Left out: every scope.' }),
    environment: z.enum(['live', 'test']).optional().meta({ description: "Left out: the caller's." }),
    tenant_id: z.string().nullable().optional(),
    project_id: z.string().nullable().optional(),
    allowed_domain_ids: domainIds.nullable().optional(),
    allowed_cidrs: cidrs.nullable().optional(),
    expires_in_days: days.nullable().optional(),
    rate_limit_per_minute: rate.nullable().optional(),
  })
  .meta({ id: 'CreateKey' })
export type CreateKey = z.output<typeof CreateKey>

/** A field left out stays as it is; an explicit null removes the restriction. */
export const PatchKey = z
  .strictObject({
    name: name.optional(),
    scopes: scopeList.optional(),
    tenant_id: z.string().nullable().optional(),
    allowed_domain_ids: domainIds.nullable().optional(),
    allowed_cidrs: cidrs.nullable().optional(),
    expires_in_days: days.nullable().optional().meta({ description: 'Counted from now.' }),
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
