import { z } from 'zod'
import { givenId } from '../../../platform/ground/bounded-text.ts'
import { exampleBrandId, exampleRegistration, formText, shownRegistration, webAddress } from '../brands/shapes.ts'
import { campaignKinds } from '../store/campaign-rows.ts'

/** What each field means, in requests and in responses. */
const meanings = {
  brand_id: 'The id of the brand that sends the messages, such as `brd_…`.',
  name: 'A name for the campaign.',
  kind: '`10dlc` for US long codes, `tollfree` for toll-free numbers.',
  use_case: 'Passed on to the registry. Messages of `marketing`, `mixed` and `low_volume` campaigns are promotional.',
  description: 'What the messages are about.',
  sample_messages: 'One to five examples of the messages.',
  message_flow: 'How people agree to receive the messages.',
  opt_in_keywords: 'The words by which people subscribe.',
  opt_in_message: 'The reply to people who subscribe.',
  help_keyword: 'The word that asks for help.',
  help_message: 'The reply to people who ask for help.',
  stop_keyword: 'The word that ends the messages.',
  privacy_policy_url: 'The URL of your privacy policy.',
  terms_url: 'The URL of your terms of service.',
  embedded_link: 'Whether messages contain links.',
  embedded_phone: 'Whether messages contain phone numbers.',
  age_gated: 'Whether the content is restricted to an age.',
  direct_lending: 'Whether the content is about loans.',
  opt_in_evidence_url: 'Toll-free: a public image or PDF of the consent form, an https URL.',
}

const kind = z
  .enum([...campaignKinds, 'toll_free'])
  .transform((value) => (value === 'toll_free' ? 'tollfree' : value))
  .meta({ description: meanings.kind, examples: ['10dlc'] })

const keyword = (example: string) => formText(32, example)

const sampleMessages = z
  .array(formText(1_024, 'Your order 42 has shipped.'))
  .min(1)
  .max(5)
  .meta({ description: meanings.sample_messages, examples: [['Your order 42 has shipped.']] })

const messageFlow = z
  .string()
  .trim()
  .min(40)
  .max(4_096)
  .meta({
    description: meanings.message_flow,
    examples: ['Customers tick a box at checkout to get order updates by text.'],
  })

const evidenceUrl = webAddress
  .refine((url) => url.startsWith('https://'), 'Must be an https URL.')
  .meta({ examples: ['https://example.com/consent.png'] })

const flag = z.boolean().default(false)
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? null)

const exampleFields = {
  brand_id: exampleBrandId,
  name: 'Order updates',
  kind: '10dlc',
  use_case: 'delivery_notification',
  description: 'Order and delivery updates',
  sample_messages: ['Your order 42 has shipped.'],
  message_flow: 'Customers tick a box at checkout to get order updates by text.',
  opt_in_keywords: ['START'],
  opt_in_message: 'You will get order updates.',
  help_message: 'Write to help@example.com.',
  privacy_policy_url: 'https://example.com/privacy',
  terms_url: 'https://example.com/terms',
  embedded_link: true,
}

export const CreateCampaign = z
  .object({
    brand_id: givenId.describe(meanings.brand_id),
    name: formText(255, 'Order updates').describe(meanings.name),
    kind,
    use_case: formText(64, 'delivery_notification').describe(meanings.use_case),
    description: formText(4_096, 'Order and delivery updates').describe(meanings.description),
    sample_messages: sampleMessages,
    message_flow: messageFlow,
    opt_in_keywords: z
      .array(keyword('START'))
      .max(20)
      .default([])
      .meta({ description: meanings.opt_in_keywords, examples: [['START']] }),
    opt_in_message: optional(formText(1_024, 'You will get order updates.')).describe(meanings.opt_in_message),
    help_keyword: keyword('HELP').default('HELP').describe(meanings.help_keyword),
    help_message: optional(formText(1_024, 'Write to help@example.com.')).describe(meanings.help_message),
    stop_keyword: keyword('STOP').default('STOP').describe(meanings.stop_keyword),
    privacy_policy_url: optional(webAddress.meta({ examples: ['https://example.com/privacy'] })).describe(
      meanings.privacy_policy_url,
    ),
    terms_url: optional(webAddress.meta({ examples: ['https://example.com/terms'] })).describe(meanings.terms_url),
    embedded_link: flag.describe(meanings.embedded_link),
    embedded_phone: flag.describe(meanings.embedded_phone),
    age_gated: flag.describe(meanings.age_gated),
    direct_lending: flag.describe(meanings.direct_lending),
    opt_in_evidence_url: optional(evidenceUrl).describe(meanings.opt_in_evidence_url),
  })
  .meta({ id: 'CreateCampaign', examples: [exampleFields] })
export type CreateCampaign = z.output<typeof CreateCampaign>

const at = z.iso.datetime()

/** The fields that the registry gets. */
export const shownCampaignFields = {
  use_case: z.string().describe(meanings.use_case),
  description: z.string().describe(meanings.description),
  sample_messages: z.array(z.string()).describe(meanings.sample_messages),
  message_flow: z.string().describe(meanings.message_flow),
  opt_in_keywords: z.array(z.string()).describe(meanings.opt_in_keywords),
  opt_in_message: z.string().nullable().describe(meanings.opt_in_message),
  help_keyword: z.string().describe(meanings.help_keyword),
  help_message: z.string().nullable().describe(meanings.help_message),
  stop_keyword: z.string().describe(meanings.stop_keyword),
  privacy_policy_url: z.string().nullable().describe(meanings.privacy_policy_url),
  terms_url: z.string().nullable().describe(meanings.terms_url),
  embedded_link: z.boolean().describe(meanings.embedded_link),
  embedded_phone: z.boolean().describe(meanings.embedded_phone),
  age_gated: z.boolean().describe(meanings.age_gated),
  direct_lending: z.boolean().describe(meanings.direct_lending),
  opt_in_evidence_url: z.string().nullable().describe(meanings.opt_in_evidence_url),
}

export const exampleCampaignId = 'cmp_01k5w3v8q6e9rbx2t7m4n0c1yz'

export const Campaign = z
  .strictObject({
    id: z.string().describe('The id of the campaign, such as `cmp_…`.'),
    brand_id: z.string().describe(meanings.brand_id),
    name: z.string().describe(meanings.name),
    kind: z.enum(campaignKinds).describe(meanings.kind),
    ...shownRegistration,
    ...shownCampaignFields,
    verified_at: at.nullable().describe('When the registry approved the campaign, or `null`.'),
    created_at: at.describe('When the campaign was created.'),
    updated_at: at.describe('When the campaign was last changed.'),
  })
  .meta({
    id: 'Campaign',
    examples: [
      {
        id: exampleCampaignId,
        ...exampleFields,
        ...exampleRegistration,
        help_keyword: 'HELP',
        stop_keyword: 'STOP',
        embedded_phone: false,
        age_gated: false,
        direct_lending: false,
        opt_in_evidence_url: null,
      },
    ],
  })
