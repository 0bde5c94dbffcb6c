import { z } from 'zod'
import { givenId } from '../../../platform/ground/bounded-text.ts'
import { isSenderId, longestSenderId } from '../../../platform/ground/sender-id.ts'
import { countryCode } from '../brands/shapes.ts'
import { exampleCampaignId } from '../campaigns/shapes.ts'
import { registrationStatuses } from '../store/registration-rows.ts'

export const numberTypes = ['longcode', 'tollfree'] as const

/** Countries whose carriers do not carry alphanumeric senders. */
const withoutSenderIds: ReadonlySet<string> = new Set(['US', 'CA', 'IN'])

const senderId = z
  .string()
  .min(1)
  .max(longestSenderId)
  .refine(isSenderId, 'Must be letters, digits, hyphens and spaces, with at least one letter.')
  .meta({ description: 'The name that recipients see. Required for alphanumeric senders.', examples: ['Acme'] })

const kindMeaning = '`number` for a phone number, `alphanumeric` for a sender id.'

const givenNumber = z.object({
  kind: z.enum(['number', 'alphanumeric']).default('number').describe(kindMeaning),
  iso_country: countryCode.meta({
    description: 'The country of the number or sender id, as a code of two letters.',
    examples: ['GB'],
  }),
  type: z
    .enum(numberTypes)
    .optional()
    .meta({ description: 'The type of the number. Required for numbers.', examples: ['longcode'] }),
  campaign_id: givenId.optional().describe('The id of a verified campaign, such as `cmp_…`. Required for numbers.'),
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

export const CreatePhoneNumber = givenNumber.superRefine(assertComplete).meta({
  id: 'CreatePhoneNumber',
  examples: [
    { iso_country: 'US', type: 'longcode', campaign_id: exampleCampaignId },
    { kind: 'alphanumeric', iso_country: 'GB', sender_id: 'Acme' },
  ],
})
export type CreatePhoneNumber = z.output<typeof CreatePhoneNumber>

export const PatchPhoneNumber = z
  .object({ campaign_id: givenId.optional().describe('The id of a verified campaign to bind the number to.') })
  .meta({ id: 'PatchPhoneNumber', examples: [{ campaign_id: exampleCampaignId }] })
export type PatchPhoneNumber = z.output<typeof PatchPhoneNumber>

const at = z.iso.datetime()

export const PhoneNumber = z
  .strictObject({
    id: z.string().describe('The id of the number or sender id, such as `num_…`.'),
    kind: z.enum(['number', 'alphanumeric']).describe(kindMeaning),
    type: z.enum(numberTypes).nullable().describe('The type of the number. `null` for a sender id.'),
    iso_country: z.string().describe('The country, as a code of two letters.'),
    e164: z
      .string()
      .nullable()
      .describe('The number in E.164 form. `null` until it is provisioned, and for a sender id.'),
    sender_id: z.string().nullable().describe('The name that recipients see. `null` for a number.'),
    campaign_id: z.string().nullable().describe('The campaign that the number is bound to, or `null`.'),
    status: z.enum(registrationStatuses).describe('You can send only from senders that are `verified`.'),
    status_reason: z.string().nullable().describe('Why the status is `unverified` or `failed`, or `null`.'),
    provider_id: z.string().nullable().describe('The id at the provider, or `null`.'),
    provider_status: z.string().nullable().describe('The status as the provider names it, or `null`.'),
    capabilities: z.array(z.string()).describe('What the sender can send: `sms`, `mms`.'),
    environment: z.enum(['live', 'test']).describe('`test` if it was created with a test key.'),
    tenant_id: z.string().nullable().describe('The tenant of the pool that the number is in, or `null`.'),
    verified_at: at.nullable().describe('When the sender was verified, or `null`.'),
    created_at: at.describe('When the sender was created.'),
    updated_at: at.describe('When the sender was last changed.'),
  })
  .meta({
    id: 'PhoneNumber',
    examples: [
      {
        id: 'num_01k5w3v8q6e9rbx2t7m4n0c1yz',
        kind: 'number',
        type: 'longcode',
        iso_country: 'US',
        e164: '+15125550100',
        sender_id: null,
        campaign_id: exampleCampaignId,
        status: 'pending',
        status_reason: null,
        provider_id: 'phone-01k5w3v8q6e9rbx2t7m4n0c1yz',
        provider_status: 'PENDING',
        capabilities: ['sms', 'mms'],
        environment: 'live',
        tenant_id: null,
        verified_at: null,
        created_at: '2026-01-15T12:00:00.000Z',
        updated_at: '2026-01-15T12:00:00.000Z',
      },
    ],
  })
