import { z } from 'zod'
import { patternText } from '../../platform/ground/bounded-text.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { refusing } from '../../platform/ground/refused-fields.ts'

/** References are case-insensitive. They are lowercased here because databases differ in how they lowercase text. */
export const foldedRef = (ref: string): string => ref.toLowerCase()

/** In characters, as OpenAPI counts them. JavaScript counts one or two units for each. */
export const maxRefLength = 200

/** The reference that a list filters by. */
export const readExternalRef = (text: string | undefined): string | null => {
  if (text === undefined) return null
  const ref = text.trim()
  if (ref === '' || [...ref].length > maxRefLength) throw new Failure('INVALID_EXTERNAL_REF')
  return foldedRef(ref)
}

const refTooLong = `Must be at most ${maxRefLength} characters.`

const externalRef = z
  .string()
  .trim()
  .min(1)
  .max(maxRefLength * 2, { error: refTooLong, abort: true })
  .refine((text) => [...text].length <= maxRefLength, refTooLong)
  .meta({ maxLength: maxRefLength })
  .transform(foldedRef)
const name = z.string().trim().min(1).max(120).describe('The name of the customer, 1 to 120 characters.')
const refText = `Your own identifier for the tenant, 1 to ${maxRefLength} characters. Upper and lower case are the same.`

export const tenantStatuses = ['active', 'suspended', 'archived', 'erased'] as const

export const CreateTenant = refusing(
  z
    .object({
      name,
      slug: patternText(/^[a-z0-9-]{1,48}$/, 48, 'Must be 1 to 48 lowercase letters, digits or hyphens.')
        .optional()
        .describe(
          'A short name that is unique in your organisation: 1 to 48 lowercase letters, digits or hyphens. If you omit it, it is derived from `name`.',
        ),
      external_ref: externalRef.nullish().describe(refText),
    })
    .meta({ id: 'CreateTenant', examples: [{ name: 'Globex', external_ref: 'customer-17' }] }),
  { action: 'A new tenant is active.' },
)
export type CreateTenant = z.output<typeof CreateTenant>

export const PatchTenant = refusing(
  z
    .object({
      name: name.optional(),
      external_ref: externalRef.nullish().describe(`${refText} \`null\` removes it.`),
    })
    .meta({ id: 'PatchTenant', examples: [{ name: 'Globex Ltd' }] }),
  { action: 'Use POST /tenants/{id}/suspend, /unsuspend, /restore or /erase.' },
)
export type PatchTenant = z.output<typeof PatchTenant>

const monthly = z.int().min(0).max(1_000_000_000).nullable()

export const PatchQuota = z
  .object({
    email_monthly: monthly
      .optional()
      .describe('Emails per UTC month, 0 to 1,000,000,000. `0` blocks email, and `null` removes the quota.'),
    sms_monthly: monthly
      .optional()
      .describe('SMS per UTC month, 0 to 1,000,000,000. `0` blocks SMS, and `null` removes the quota.'),
  })
  .meta({ id: 'PatchQuota', examples: [{ email_monthly: 10_000, sms_monthly: null }] })
export type PatchQuota = z.output<typeof PatchQuota>

const at = z.iso.datetime()

const id = z.string().describe('The id of the tenant, such as `ten_…`.')
const quotas = {
  email_monthly: z.int().nullable().describe('The number of emails that the tenant can send per UTC month, or `null`.'),
  sms_monthly: z.int().nullable().describe('The number of SMS that the tenant can send per UTC month, or `null`.'),
}

export const Tenant = z
  .strictObject({
    id,
    slug: z.string().describe('The short name of the tenant, unique in your organisation.'),
    name: z.string().describe('The name of the tenant.'),
    external_ref: z
      .string()
      .nullable()
      .describe('Your own identifier for the tenant, in lower case, which you can send as `X-Service-Tenant-Ref`.'),
    status: z
      .enum(tenantStatuses)
      .describe('Only an `active` tenant can send and use its API keys. An `erased` tenant has no data left.'),
    quotas: z.strictObject(quotas).describe('The monthly quotas of the tenant. `null` means no quota.'),
    created_at: at.describe('When the tenant was created.'),
    updated_at: at.describe('When the tenant was last changed.'),
    suspended_at: at.nullable().describe('When the tenant was suspended, or `null` if it is not.'),
    archived_at: at.nullable().describe('When the tenant was archived, or `null` if it is not.'),
    erased_at: at.nullable().describe('When the tenant was erased, or `null` if it is not.'),
  })
  .meta({
    id: 'Tenant',
    examples: [
      {
        id: 'ten_01k5w3v8q6e9rbx2t7m4n0c1yz',
        slug: 'globex',
        name: 'Globex',
        external_ref: 'customer-17',
        status: 'active',
        quotas: { email_monthly: 10_000, sms_monthly: null },
        created_at: '2026-01-15T12:00:00.000Z',
        updated_at: '2026-01-15T12:00:00.000Z',
        suspended_at: null,
        archived_at: null,
        erased_at: null,
      },
    ],
  })

export const TenantQuota = z
  .strictObject({ tenant_id: id, ...quotas, updated_at: at.describe('When the tenant was last changed.') })
  .meta({
    id: 'TenantQuota',
    examples: [
      {
        tenant_id: 'ten_01k5w3v8q6e9rbx2t7m4n0c1yz',
        email_monthly: 10_000,
        sms_monthly: null,
        updated_at: '2026-01-15T12:00:00.000Z',
      },
    ],
  })

export const ErasedTenant = z
  .strictObject({
    id,
    status: z.literal('erased').describe('Always `erased`.'),
    erased_at: at.describe('When the erasure was complete.'),
    messages_redacted: z.int().describe('The number of messages whose content and recipients were removed.'),
    message_events_deleted: z.int().describe('The number of deleted events of those messages.'),
    contacts_deleted: z.int().describe('The number of deleted contacts.'),
    inbound_deleted: z.int().describe('The number of deleted inbound messages.'),
  })
  .meta({
    id: 'ErasedTenant',
    examples: [
      {
        id: 'ten_01k5w3v8q6e9rbx2t7m4n0c1yz',
        status: 'erased',
        erased_at: '2026-01-15T12:00:00.000Z',
        messages_redacted: 12,
        message_events_deleted: 30,
        contacts_deleted: 0,
        inbound_deleted: 0,
      },
    ],
  })
