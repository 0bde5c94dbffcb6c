import { z } from 'zod'
import { givenId, patternText } from '../../platform/ground/bounded-text.ts'
import { refusing, tenantByHeader } from '../../platform/ground/refused-fields.ts'
import { givenPhoneNumber } from '../suppressions/shapes.ts'
import {
  contactEmail,
  maxEmail,
  maxMetadataKey,
  maxMetadataKeys,
  maxMetadataValue,
  maxName,
  maxPhone,
} from './contact-fields.ts'

const email = z
  .string()
  .max(maxEmail)
  .transform((text, context): string => {
    const address = contactEmail(text.trim())
    if (address !== undefined) return address
    context.addIssue({ code: 'invalid_format', format: 'email', message: 'Must be an email address without a name.' })
    return z.NEVER
  })
  .meta({ examples: ['ada@example.com'] })
  .nullish()
  .describe(`An email address of up to ${maxEmail} characters.`)

const strictPhone = givenPhoneNumber.nullish().describe('A phone number in E.164 format, such as `+14155550100`.')

const anyPhone = z
  .string()
  .max(maxPhone)
  .trim()
  .min(1)
  .nullish()
  .describe(
    `A phone number of up to ${maxPhone} characters, as you have it. Messages are sent only to numbers in E.164 format.`,
  )

const name = z
  .string()
  .max(maxName)
  .trim()
  .min(1)
  .nullish()
  .describe(`The name of the contact, up to ${maxName} characters.`)

const metadataText =
  'Up to 100 texts of your own, which templates can use. Keys have up to 128 characters, values up to 4,096.'

/** Counts the keys before validating them: validating a map with a million keys takes seconds. */
const metadata = z.preprocess(
  (value, context) => {
    if (typeof value !== 'object' || value === null || Object.keys(value).length <= maxMetadataKeys) return value
    context.addIssue({ code: 'custom', message: `Must have at most ${maxMetadataKeys} keys.` })
    return z.NEVER
  },
  z
    .record(
      // A column name in a CSV file has no spaces around it.
      z
        .string()
        .min(1)
        .max(maxMetadataKey)
        .regex(/^\S(?:.*\S)?$/s, 'Must not begin or end with a space.'),
      z.string().max(maxMetadataValue),
    )
    .meta({ maxProperties: maxMetadataKeys }),
)

type Reachable = { email?: string | null | undefined; phone?: string | null | undefined }

const needsTarget = (contact: Reachable, context: z.RefinementCtx): void => {
  if ((contact.email ?? undefined) !== undefined || (contact.phone ?? undefined) !== undefined) return
  context.addIssue({ code: 'custom', path: ['email'], message: 'A contact needs an email address or a phone number.' })
}

const optionalFields = {
  name,
  email,
  metadata: metadata.optional().describe(metadataText),
}

export const CreateContact = refusing(
  z
    .object({ ...optionalFields, phone: strictPhone })
    .superRefine(needsTarget)
    .meta({
      id: 'CreateContact',
      examples: [{ name: 'Ada Lovelace', email: 'ada@example.com', phone: '+14155550100', metadata: { plan: 'pro' } }],
    }),
  {
    contact_id: 'Add an existing contact to an audience with POST /audiences/{id}/contacts.',
    tenant_id: tenantByHeader,
  },
)
export type CreateContact = z.output<typeof CreateContact>

export const PatchContact = z
  .object({
    name,
    email,
    phone: strictPhone,
    metadata: metadata.optional().describe(`${metadataText} Replaces all previous keys.`),
  })
  .meta({ id: 'PatchContact', examples: [{ name: 'Ada King', metadata: { plan: 'enterprise' } }] })
export type PatchContact = z.output<typeof PatchContact>

export const AddMember = refusing(
  z
    .object({
      contact_id: givenId
        .optional()
        .describe('The id of an existing contact. Without it, give the fields of a contact.'),
      ...optionalFields,
      phone: anyPhone,
    })
    .superRefine((body, context) => {
      if (body.contact_id === undefined) return needsTarget(body, context)
      const others = Object.entries(body).filter(([field, value]) => field !== 'contact_id' && value !== undefined)
      if (others.length === 0) return
      context.addIssue({
        code: 'custom',
        path: ['contact_id'],
        message: 'Give either contact_id or the fields of a contact.',
      })
    })
    .meta({
      id: 'AddMember',
      examples: [
        { name: 'Ada Lovelace', email: 'ada@example.com', metadata: { plan: 'pro' } },
        { contact_id: 'con_01k5w3v8q6e9rbx2t7m4n0c1yz' },
      ],
    }),
  { tenant_id: 'A new contact belongs to the tenant of its audience.' },
)
export type AddMember = z.output<typeof AddMember>

const instant = z.iso.datetime()
const tenantOf = (what: string) =>
  z.string().nullable().describe(`The tenant that the ${what} belongs to. \`null\` if it belongs to the organisation.`)

const exampleContact = {
  id: 'con_01k5w3v8q6e9rbx2t7m4n0c1yz',
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  phone: '+14155550100',
  metadata: { plan: 'pro' },
  tenant_id: null,
  created_at: '2026-01-15T12:00:00.000Z',
  updated_at: '2026-01-15T12:00:00.000Z',
}

export const Contact = z
  .strictObject({
    id: z.string().describe('The id of the contact, such as `con_…`.'),
    name: z.string().nullable().describe('The name, or `null` if there is none.'),
    email: z.string().nullable().describe('The email address, or `null` if there is none.'),
    phone: z.string().nullable().describe('The phone number, or `null` if there is none.'),
    metadata: z.record(z.string(), z.string()).describe('Texts of your own.'),
    tenant_id: tenantOf('contact'),
    created_at: instant.describe('When the contact was created.'),
    updated_at: instant.describe('When the contact was last changed.'),
  })
  .meta({ id: 'Contact', examples: [exampleContact] })

export const AudienceMember = Contact.extend({
  audience_id: z.string().describe('The audience that the contact is a member of.'),
}).meta({ id: 'AudienceMember', examples: [{ ...exampleContact, audience_id: 'aud_01k5w3v8q6e9rbx2t7m4n0c1yz' }] })

export const CreateAudience = refusing(
  z
    .object({
      name: z.string().max(200).trim().min(1).describe('The name of the audience, 1 to 200 characters.'),
      slug: patternText(
        /^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/,
        64,
        'Must contain only lower-case letters and digits, with single dashes between them.',
      )
        .optional()
        .describe(
          'A name to refer to the audience by, unique in the organisation: 1 to 64 lower-case letters and digits, with single dashes between them. Made from `name` by default.',
        ),
    })
    .meta({ id: 'CreateAudience', examples: [{ name: 'Beta users' }, { name: 'Newsletter', slug: 'newsletter' }] }),
  { tenant_id: tenantByHeader },
)
export type CreateAudience = z.output<typeof CreateAudience>

export const Audience = z
  .strictObject({
    id: z.string().describe('The id of the audience, such as `aud_…`.'),
    name: z.string().describe('The name.'),
    slug: z.string().describe('The name to refer to the audience by.'),
    member_count: z.int().describe('The number of members.'),
    tenant_id: tenantOf('audience'),
    created_at: instant.describe('When the audience was created.'),
    updated_at: instant.describe('When the audience or its members last changed.'),
  })
  .meta({
    id: 'Audience',
    examples: [
      {
        id: 'aud_01k5w3v8q6e9rbx2t7m4n0c1yz',
        name: 'Beta users',
        slug: 'beta-users',
        member_count: 3,
        tenant_id: null,
        created_at: '2026-01-15T12:00:00.000Z',
        updated_at: '2026-01-15T12:00:00.000Z',
      },
    ],
  })

/** A CSV file inside JSON. The same file can be sent as `text/csv`. */
export const CsvInJson = z
  .object({ csv: z.string().max(10_485_760).describe('The CSV file, up to 10 MB.') })
  .meta({ id: 'CsvFile', examples: [{ csv: 'email,name,plan\r\nada@example.com,Ada Lovelace,pro\r\n' }] })

const count = (text: string) => z.int().min(0).describe(text)

export const ImportReport = z
  .strictObject({
    rows: count('The number of rows in the file, without the header.'),
    created: count('New contacts, which are also members now.'),
    linked: count('Contacts that existed already and became members.'),
    already_members: count('Rows whose contact was a member already, also through an earlier row of the file.'),
    skipped: count('Rows that were left out. `errors` gives the reasons.'),
    errors: z
      .array(
        z.strictObject({
          row: z.int().min(1).describe('The number of the row, starting at 1 after the header.'),
          message: z.string().describe('Why the row was left out.'),
        }),
      )
      .describe('One entry for every skipped row, in the order of the file.'),
  })
  .meta({
    id: 'ImportReport',
    examples: [
      {
        rows: 5,
        created: 3,
        linked: 1,
        already_members: 0,
        skipped: 1,
        errors: [{ row: 4, message: 'no email or phone' }],
      },
    ],
  })
export type ImportReport = z.output<typeof ImportReport>
