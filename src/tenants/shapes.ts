import { z } from 'zod'
import { patternText } from '../ground/bounded-text.ts'

/** References are case-insensitive. They are lowercased here because databases differ in how they lowercase text. */
export const foldedRef = (ref: string): string => ref.toLowerCase()

/** In characters, as OpenAPI counts them. JavaScript counts one or two units for each. */
export const maxRefLength = 200
const refTooLong = `Must be at most ${maxRefLength} characters.`

const externalRef = z
  .string()
  .trim()
  .min(1)
  .max(maxRefLength * 2, { error: refTooLong, abort: true })
  .refine((text) => [...text].length <= maxRefLength, refTooLong)
  .meta({ maxLength: maxRefLength })
  .transform(foldedRef)
const name = z.string().trim().min(1).max(120)

export const tenantStatuses = ['active', 'suspended', 'archived', 'erased'] as const

export const CreateTenant = z
  .object({
    name,
    slug: patternText(/^[a-z0-9-]{1,48}$/, 48, 'Must be 1 to 48 lowercase letters, digits or hyphens.').optional(),
    external_ref: externalRef.nullable().optional(),
  })
  .meta({ id: 'CreateTenant' })
export type CreateTenant = z.output<typeof CreateTenant>

export const PatchTenant = z
  .object({ name: name.optional(), external_ref: externalRef.nullable().optional() })
  .meta({ id: 'PatchTenant' })
export type PatchTenant = z.output<typeof PatchTenant>

const monthly = z.int().min(0).max(1_000_000_000).nullable()

export const PatchQuota = z
  .object({ email_monthly: monthly.optional(), sms_monthly: monthly.optional() })
  .meta({ id: 'PatchQuota' })
export type PatchQuota = z.output<typeof PatchQuota>

const at = z.iso.datetime()

export const Tenant = z
  .strictObject({
    id: z.string(),
    slug: z.string(),
    name: z.string(),
    external_ref: z.string().nullable(),
    status: z.enum(tenantStatuses),
    quotas: z.strictObject({ email_monthly: z.int().nullable(), sms_monthly: z.int().nullable() }),
    created_at: at,
    updated_at: at,
    suspended_at: at.nullable(),
    archived_at: at.nullable(),
    erased_at: at.nullable(),
  })
  .meta({ id: 'Tenant' })

export const TenantQuota = z
  .strictObject({
    tenant_id: z.string(),
    email_monthly: z.int().nullable(),
    sms_monthly: z.int().nullable(),
    updated_at: at,
  })
  .meta({ id: 'TenantQuota' })

export const ErasedTenant = z
  .strictObject({
    id: z.string(),
    status: z.literal('erased'),
    erased_at: at,
    messages_redacted: z.int(),
    message_events_deleted: z.int(),
    contacts_deleted: z.int(),
    inbound_deleted: z.int(),
  })
  .meta({ id: 'ErasedTenant' })
