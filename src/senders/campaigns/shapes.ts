import { z } from 'zod'
import { givenId } from '../../ground/bounded-text.ts'
import { shownRegistration, webAddress } from '../brands/shapes.ts'
import { campaignKinds } from '../store/campaign-rows.ts'

const text = (max: number, example: string) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .meta({ examples: [example] })

const kind = z
  .enum([...campaignKinds, 'toll_free'])
  .transform((value) => (value === 'toll_free' ? 'tollfree' : value))
  .meta({ description: '`10dlc` for US long codes, `tollfree` for toll-free numbers.', examples: ['10dlc'] })

const keyword = (example: string) => text(32, example)

const sampleMessages = z
  .array(text(1_024, 'Your order 42 has shipped.'))
  .min(1)
  .max(5)
  .meta({ examples: [['Your order 42 has shipped.']] })

const messageFlow = z
  .string()
  .trim()
  .min(40)
  .max(4_096)
  .meta({
    description: 'How people agree to receive the messages.',
    examples: ['Customers tick a box at checkout to get order updates by text.'],
  })

const evidenceUrl = webAddress
  .refine((url) => url.startsWith('https://'), 'Must be an https URL.')
  .meta({
    description: 'Toll-free: a public image or PDF of the consent form.',
    examples: ['https://example.com/consent.png'],
  })

const flag = z.boolean().default(false)
const optional = <T extends z.ZodType>(schema: T) =>
  schema
    .nullable()
    .optional()
    .transform((value) => value ?? null)

export const CreateCampaign = z
  .object({
    brand_id: givenId,
    name: text(255, 'Order updates'),
    kind,
    use_case: text(64, 'delivery_notification').meta({
      description:
        'Passed on to the registry. Messages of `marketing`, `mixed` and `low_volume` campaigns are promotional.',
    }),
    description: text(4_096, 'Order and delivery updates'),
    sample_messages: sampleMessages,
    message_flow: messageFlow,
    opt_in_keywords: z
      .array(keyword('START'))
      .max(20)
      .default([])
      .meta({ examples: [['START']] }),
    opt_in_message: optional(text(1_024, 'You will get order updates.')),
    help_keyword: keyword('HELP').default('HELP').meta({ description: 'The word that asks for help.' }),
    help_message: optional(text(1_024, 'Write to help@example.com.')),
    stop_keyword: keyword('STOP').default('STOP').meta({ description: 'The word that ends the messages.' }),
    privacy_policy_url: optional(webAddress.meta({ examples: ['https://example.com/privacy'] })),
    terms_url: optional(webAddress.meta({ examples: ['https://example.com/terms'] })),
    embedded_link: flag,
    embedded_phone: flag,
    age_gated: flag,
    direct_lending: flag,
    opt_in_evidence_url: optional(evidenceUrl),
  })
  .meta({ id: 'CreateCampaign' })
export type CreateCampaign = z.output<typeof CreateCampaign>

const at = z.iso.datetime()

/** The fields that the registry gets. */
export const shownCampaignFields = {
  use_case: z.string(),
  description: z.string(),
  sample_messages: z.array(z.string()),
  message_flow: z.string(),
  opt_in_keywords: z.array(z.string()),
  opt_in_message: z.string().nullable(),
  help_keyword: z.string(),
  help_message: z.string().nullable(),
  stop_keyword: z.string(),
  privacy_policy_url: z.string().nullable(),
  terms_url: z.string().nullable(),
  embedded_link: z.boolean(),
  embedded_phone: z.boolean(),
  age_gated: z.boolean(),
  direct_lending: z.boolean(),
  opt_in_evidence_url: z.string().nullable(),
}

export const Campaign = z
  .strictObject({
    id: z.string(),
    brand_id: z.string(),
    name: z.string(),
    kind: z.enum(campaignKinds),
    ...shownRegistration,
    ...shownCampaignFields,
    verified_at: at.nullable(),
    created_at: at,
    updated_at: at,
  })
  .meta({ id: 'Campaign' })
