import { z } from 'zod'
import { givenId } from '../../ground/bounded-text.ts'
import { isSenderId, longestSenderId } from '../../ground/sender-id.ts'
import { countryCode } from '../brands/shapes.ts'
import { registrationStatuses } from '../store/registration-rows.ts'

export const numberTypes = ['longcode', 'tollfree'] as const

/** Countries whose carriers do not carry alphanumeric senders. */
const withoutSenderIds: ReadonlySet<string> = new Set(['US', 'CA', 'IN'])

const senderId = z
  .string()
  .min(1)
  .max(longestSenderId)
  .refine(isSenderId, 'Must be letters, digits, hyphens and spaces, with at least one letter.')
  .meta({ description: 'Alphanumeric senders only.', examples: ['Acme'] })

const givenNumber = z.object({
  kind: z.enum(['number', 'alphanumeric']).default('number'),
  iso_country: countryCode.meta({ examples: ['GB'] }),
  type: z
    .enum(numberTypes)
    .optional()
    .meta({ description: 'Required for numbers.', examples: ['longcode'] }),
  campaign_id: givenId.optional().meta({ description: 'Required for numbers.' }),
  sender_id: senderId.optional(),
})

type Given = z.output<typeof givenNumber>

const assertComplete = (given: Given, context: z.RefinementCtx): void => {
  const needed = given.kind === 'number' ? (['type', 'campaign_id'] as const) : (['sender_id'] as const)
  for (const name of needed) {
    if (given[name] !== undefined) continue
    const message = `Required for kind ${given.kind}.`
    context.addIssue({ code: 'invalid_type', expected: 'string', input: undefined, path: [name], message })
  }
  if (given.kind === 'alphanumeric' && withoutSenderIds.has(given.iso_country)) {
    const message = 'Alphanumeric senders are not available in this country.'
    context.addIssue({ code: 'custom', path: ['iso_country'], message })
  }
  if (given.kind === 'number' && given.type === 'longcode' && given.iso_country === 'CA') {
    context.addIssue({ code: 'custom', path: ['type'], message: 'Canada has only toll-free numbers.' })
  }
}

export const CreatePhoneNumber = givenNumber.superRefine(assertComplete).meta({ id: 'CreatePhoneNumber' })
export type CreatePhoneNumber = z.output<typeof CreatePhoneNumber>

export const PatchPhoneNumber = z.object({ campaign_id: givenId.optional() }).meta({ id: 'PatchPhoneNumber' })
export type PatchPhoneNumber = z.output<typeof PatchPhoneNumber>

const at = z.iso.datetime()

export const PhoneNumber = z
  .strictObject({
    id: z.string(),
    kind: z.enum(['number', 'alphanumeric']),
    type: z.enum(numberTypes).nullable(),
    iso_country: z.string(),
    e164: z.string().nullable().meta({ description: 'Null until the number is provisioned.' }),
    sender_id: z.string().nullable(),
    campaign_id: z.string().nullable(),
    status: z.enum(registrationStatuses),
    status_reason: z.string().nullable(),
    provider_id: z.string().nullable(),
    provider_status: z.string().nullable(),
    capabilities: z.array(z.string()),
    environment: z.enum(['live', 'test']),
    tenant_id: z.string().nullable().meta({ description: 'The tenant of the pool that the number is in.' }),
    verified_at: at.nullable(),
    created_at: at,
    updated_at: at,
  })
  .meta({ id: 'PhoneNumber' })
