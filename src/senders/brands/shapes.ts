import { z } from 'zod'
import { patternText } from '../../ground/bounded-text.ts'
import { parseMailbox } from '../../ground/mailbox.ts'
import { isCountry } from '../../ground/phone-number.ts'
import { registrationStatuses } from '../store/registration-rows.ts'

export const entityTypes = ['private_profit', 'public_profit', 'non_profit', 'government', 'sole_proprietor'] as const

const text = (max: number, example: string) =>
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

/** The registry decides which of these it requires, so all of them may be absent. */
const optionalFields = {
  ein: text(50, '12-3456789').meta({ description: 'The tax id of the company.' }),
  vertical: text(100, 'technology').meta({ description: 'The industry of the company.' }),
  website: webAddress.meta({ examples: ['https://example.com'] }),
  email,
  street: text(255, '1 Main St'),
  city: text(100, 'Austin'),
  state_region: text(100, 'TX'),
  postal_code: text(20, '78701'),
  country: countryCode,
  contact_first_name: text(100, 'Ada'),
  contact_last_name: text(100, 'Lovelace'),
  contact_phone: phone,
  stock_symbol: text(20, 'EXM').meta({ description: 'For a listed company.' }),
  stock_exchange: text(50, 'NASDAQ').meta({ description: 'For a listed company.' }),
}

const requiredFields = {
  display_name: text(255, 'Example').meta({ description: 'The name that recipients know.' }),
  legal_company_name: text(255, 'Example Inc.'),
  entity_type: z.enum(entityTypes).meta({ description: 'Decides which other fields the registry requires.' }),
}

const orNull = <T extends Record<string, z.ZodType>>(shape: T) =>
  Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, schema.nullable().optional()])) as {
    [N in keyof T]: z.ZodOptional<z.ZodNullable<T[N]>>
  }

export const CreateBrand = z.object({ ...requiredFields, ...orNull(optionalFields) }).meta({ id: 'CreateBrand' })
export type CreateBrand = z.output<typeof CreateBrand>

export const PatchBrand = z
  .object({ ...z.object(requiredFields).partial().shape, ...orNull(optionalFields) })
  .meta({ id: 'PatchBrand' })
export type PatchBrand = z.output<typeof PatchBrand>

export const brandFieldNames = Object.keys({ ...requiredFields, ...optionalFields })

const at = z.iso.datetime()

/** What brands and campaigns have in common in responses. */
export const shownRegistration = {
  status: z.enum(registrationStatuses),
  status_reason: z.string().nullable(),
  environment: z.enum(['live', 'test']),
  provider_id: z.string().nullable().meta({ description: 'Null until the registry has it.' }),
  provider_status: z.string().nullable(),
  provider_missing_fields: z.array(z.string()).nullable().meta({
    description:
      'Empty: the submission is complete. Otherwise the fields that the registry requires and did not get. Null: its list of fields could not be read.',
  }),
}

const shownFields = Object.fromEntries(Object.keys(optionalFields).map((name) => [name, z.string().nullable()])) as {
  [N in keyof typeof optionalFields]: z.ZodNullable<z.ZodString>
}

export const Brand = z
  .strictObject({
    id: z.string(),
    ...shownRegistration,
    display_name: z.string(),
    legal_company_name: z.string(),
    entity_type: z.enum(entityTypes),
    ...shownFields,
    verified_at: at.nullable(),
    created_at: at,
    updated_at: at,
  })
  .meta({ id: 'Brand' })

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
  .meta({ id: 'CorrectedBrand' })
