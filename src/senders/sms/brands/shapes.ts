import { z } from 'zod'
import { patternText } from '../../../platform/ground/bounded-text.ts'
import { parseMailbox } from '../../../platform/ground/mailbox.ts'
import { isCountry } from '../../../platform/ground/phone-number.ts'
import { registrationStatuses } from '../store/registration-rows.ts'

export const entityTypes = ['private_profit', 'public_profit', 'non_profit', 'government', 'sole_proprietor'] as const

/** A text of the form of a brand or a campaign. */
export const formText = (max: number, example: string) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .meta({ examples: [example] })

const isWebAddress = (value: string): boolean => {
  const url = URL.parse(value)
  return (url?.protocol === 'https:' || url?.protocol === 'http:') && url.hostname.includes('.')
}

export const webAddress = z
  .string()
  .max(2_048)
  .refine(isWebAddress, { error: 'Must be an http or https URL.', abort: true })

/** ISO 3166-1 alpha-2, in upper case. */
export const countryCode = z
  .string()
  .max(2)
  .toUpperCase()
  .refine(isCountry, 'Must be a country code of two letters, such as US.')
  .meta({ examples: ['US'] })

const email = z
  .string()
  .max(320)
  .refine((value) => parseMailbox(value)?.address === value, 'Must be an email address.')
  .meta({ examples: ['ops@example.com'] })

const phone = patternText(/^\+[1-9]\d{1,14}$/, 16, 'Must be a number in E.164 form, such as +15125550100.').meta({
  examples: ['+15125550100'],
})

/** What the required fields mean, in requests and in responses. */
const meanings = {
  display_name: 'The name that recipients know.',
  legal_company_name: 'The registered name of the company.',
  entity_type: 'The legal form of the company. Decides which other fields the registry requires.',
}

/** With what they mean. The registry decides which of these it requires, so all of them may be absent. */
const optionalFields = {
  ein: [formText(50, '12-3456789'), 'The tax id of the company.'],
  vertical: [formText(100, 'technology'), 'The industry of the company.'],
  website: [
    webAddress.meta({ examples: ['https://example.com'] }),
    'The website of the company, an http or https URL.',
  ],
  email: [email, 'An email address at which the registry can reach the company.'],
  street: [formText(255, '1 Main St'), 'The street and house number of the company.'],
  city: [formText(100, 'Austin'), 'The city of the company.'],
  state_region: [formText(100, 'TX'), 'The state or region of the company.'],
  postal_code: [formText(20, '78701'), 'The postal code of the company.'],
  country: [countryCode, 'The country of the company, as a code of two letters.'],
  contact_first_name: [formText(100, 'Ada'), 'The first name of the contact person.'],
  contact_last_name: [formText(100, 'Lovelace'), 'The last name of the contact person.'],
  contact_phone: [phone, 'The phone number of the contact person, in E.164 form.'],
  stock_symbol: [formText(20, 'EXM'), 'The stock symbol, for a listed company.'],
  stock_exchange: [formText(50, 'NASDAQ'), 'The stock exchange, for a listed company.'],
} satisfies Record<string, readonly [z.ZodType, string]>

const requiredFields = {
  display_name: formText(255, 'Example').describe(meanings.display_name),
  legal_company_name: formText(255, 'Example Inc.').describe(meanings.legal_company_name),
  entity_type: z.enum(entityTypes).describe(meanings.entity_type),
}

type Optional = typeof optionalFields

const orNull = Object.fromEntries(
  Object.entries(optionalFields).map(([name, [schema, meaning]]) => [name, schema.nullish().describe(meaning)]),
) as { [N in keyof Optional]: z.ZodOptional<z.ZodNullable<Optional[N][0]>> }

const exampleFields = {
  display_name: 'Example',
  legal_company_name: 'Example Inc.',
  entity_type: 'private_profit',
  ein: '12-3456789',
  vertical: 'technology',
  website: 'https://example.com',
  email: 'ops@example.com',
  street: '1 Main St',
  city: 'Austin',
  state_region: 'TX',
  postal_code: '78701',
  country: 'US',
  contact_first_name: 'Ada',
  contact_last_name: 'Lovelace',
  contact_phone: '+15125550100',
}

export const CreateBrand = z
  .object({ ...requiredFields, ...orNull })
  .meta({ id: 'CreateBrand', examples: [exampleFields] })
export type CreateBrand = z.output<typeof CreateBrand>

export const PatchBrand = z
  .object({ ...z.object(requiredFields).partial().shape, ...orNull })
  .meta({ id: 'PatchBrand', examples: [{ street: '2 Main St', postal_code: '78702' }] })
export type PatchBrand = z.output<typeof PatchBrand>

export const brandFieldNames = Object.keys({ ...requiredFields, ...optionalFields })

const at = z.iso.datetime()

/** What brands and campaigns have in common in responses. */
export const shownRegistration = {
  status: z
    .enum(registrationStatuses)
    .describe(
      '`pending` until the registry decides, `verified` once it approved, `unverified` if it did not approve or withdrew its approval, `failed` if it could not be submitted.',
    ),
  status_reason: z.string().nullable().describe('Why the status is `unverified` or `failed`, or `null`.'),
  environment: z.enum(['live', 'test']).describe('`test` if it was created with a test key.'),
  provider_id: z.string().nullable().describe('The id at the registry. `null` until the registry has it.'),
  provider_status: z.string().nullable().describe('The status as the registry names it, or `null`.'),
  provider_missing_fields: z
    .array(z.string())
    .nullable()
    .describe(
      'Empty: the submission is complete. Otherwise the fields that the registry requires and did not get. `null`: its list of fields could not be read.',
    ),
}

/** The part of an example that `shownRegistration` describes, with the times. */
export const exampleRegistration = {
  status: 'pending',
  status_reason: null,
  environment: 'live',
  provider_id: 'registration-01k5w3v8q6e9rbx2t7m4n0c1yz',
  provider_status: 'SUBMITTED',
  provider_missing_fields: [],
  verified_at: null,
  created_at: '2026-01-15T12:00:00.000Z',
  updated_at: '2026-01-15T12:00:00.000Z',
}

export const exampleBrandId = 'brd_01k5w3v8q6e9rbx2t7m4n0c1yz'
const exampleBrand = {
  id: exampleBrandId,
  ...exampleRegistration,
  ...exampleFields,
  stock_symbol: null,
  stock_exchange: null,
}

const shownFields = Object.fromEntries(
  Object.entries(optionalFields).map(([name, [, meaning]]) => [name, z.string().nullable().describe(meaning)]),
) as { [N in keyof Optional]: z.ZodNullable<z.ZodString> }

export const Brand = z
  .strictObject({
    id: z.string().describe('The id of the brand, such as `brd_…`.'),
    ...shownRegistration,
    display_name: z.string().describe(meanings.display_name),
    legal_company_name: z.string().describe(meanings.legal_company_name),
    entity_type: z.enum(entityTypes).describe(meanings.entity_type),
    ...shownFields,
    verified_at: at.nullable().describe('When the registry approved the brand, or `null`.'),
    created_at: at.describe('When the brand was created.'),
    updated_at: at.describe('When the brand was last changed.'),
  })
  .meta({ id: 'Brand', examples: [exampleBrand] })

/** The fields of the registration, as responses show them. */
export type BrandFields = Pick<z.output<typeof Brand>, keyof typeof requiredFields | keyof typeof optionalFields>

export const resubmits = ['pushed', 'not_submittable', 'no_registration'] as const
export type Resubmit = (typeof resubmits)[number]

export const CorrectedBrand = z
  .strictObject({
    ...Brand.shape,
    resubmit: z.enum(resubmits).meta({
      description:
        '`pushed`: the registry took the values and reviews the brand again. `not_submittable`: it takes no changes while it reviews the brand or after it approved it. `no_registration`: it does not have the brand yet, and the next attempt to register it sends the values.',
    }),
  })
  .meta({
    id: 'CorrectedBrand',
    examples: [{ ...exampleBrand, street: '2 Main St', postal_code: '78702', resubmit: 'not_submittable' }],
  })
