import { z } from 'zod'
import { givenId, patternText } from '../../../platform/ground/bounded-text.ts'

export const dltStatuses = ['pending', 'submitted', 'approved', 'rejected'] as const

const categories = ['transactional', 'service_implicit', 'service_explicit', 'promotional'] as const
const category = z.enum(categories).describe('The kind of messages, as registered with the operator.')
const entity = givenId.meta({ description: 'The id of an entity, `dle_…`.' })

const entityId = patternText(/^\d{19}$/, 19, 'Must be the 19 digits of the entity id.')

const entityRef = 'dle_01k5w3v8q6e9rbx2t7m4n0c1yz'
const headerRef = 'dlh_01k5w3v8q6e9rbx2t7m4n0c1yz'
const exampleEntity = { entity_id: '1101234567890123456', legal_name: 'Acme India Private Limited' }
const exampleHeader = { entity: entityRef, header: 'ACMEIN', category: 'transactional' }
const exampleTemplate = {
  entity: entityRef,
  header: headerRef,
  name: 'Login code',
  category: 'transactional',
  content: 'Your code is {#var#}',
}

export const CreateDltEntity = z
  .object({
    entity_id: entityId.meta({ description: 'The principal entity id that the operator issued.' }),
    legal_name: z.string().min(1).max(200).describe('The registered name of the company, up to 200 characters.'),
  })
  .meta({ id: 'CreateDltEntity', examples: [exampleEntity] })
export type CreateDltEntity = z.output<typeof CreateDltEntity>

const letters = /^[A-Za-z]{3,6}$/

export const CreateDltHeader = z
  .object({
    entity,
    header: patternText(/^(?:[A-Za-z]{3,6}|\d{6})$/, 6, 'Must be 3 to 6 letters, or 6 digits.').meta({
      description: '3 to 6 letters, or 6 digits for the category `promotional`.',
    }),
    category,
  })
  .superRefine((given, context) => {
    if (given.category === 'promotional' || letters.test(given.header)) return
    const message = 'Must be 3 to 6 letters. Only promotional headers have digits.'
    context.addIssue({ code: 'custom', path: ['header'], message })
  })
  .meta({ id: 'CreateDltHeader', examples: [exampleHeader] })
export type CreateDltHeader = z.output<typeof CreateDltHeader>

export const CreateDltTemplate = z
  .object({
    entity,
    header: givenId.meta({ description: 'The id of a header of the entity, `dlh_…`.' }),
    name: z.string().min(1).max(100).describe('A name for people, up to 100 characters.'),
    category,
    content: z.string().min(1).max(2_000).meta({
      description: 'The registered text. `{#var#}` marks a variable part of 1 to 30 characters.',
    }),
  })
  .meta({ id: 'CreateDltTemplate', examples: [exampleTemplate] })
export type CreateDltTemplate = z.output<typeof CreateDltTemplate>

const createdAt = z.iso.datetime().describe('When it was registered.')
const status = z
  .enum(dltStatuses)
  .describe('The state of the registration. Messages need templates that are `approved`.')
const rejectionReason = z.string().nullable().describe('Why the registration was rejected, or `null`.')
const exampleInstant = '2026-01-15T12:00:00.000Z'
const exampleState = { status: 'pending', rejection_reason: null, created_at: exampleInstant }

export const DltEntity = z
  .strictObject({
    id: z.string().describe('The id of the entity, such as `dle_…`.'),
    entity_id: z.string().describe('The principal entity id that the operator issued.'),
    legal_name: z.string().describe('The registered name of the company.'),
    status,
    rejection_reason: rejectionReason,
    created_at: createdAt,
  })
  .meta({ id: 'DltEntity', examples: [{ id: entityRef, ...exampleEntity, ...exampleState }] })

export const DltHeader = z
  .strictObject({
    id: z.string().describe('The id of the header, such as `dlh_…`.'),
    entity: z.string().describe('The id of its entity, such as `dle_…`.'),
    header: z.string().describe('The registered sender, of letters or digits.'),
    category,
    status,
    rejection_reason: rejectionReason,
    created_at: createdAt,
  })
  .meta({ id: 'DltHeader', examples: [{ id: headerRef, ...exampleHeader, ...exampleState }] })

export const DltTemplateShape = z
  .strictObject({
    id: z.string().describe('The id of the template, such as `dlt_…`. Messages name it in `dlt_template_id`.'),
    name: z.string().describe('The name for people.'),
    status,
    category,
    content: z.string().describe('The registered text. `{#var#}` marks a variable part.'),
    entity: z.string().describe('The id of its entity, such as `dle_…`.'),
    header: z.string().describe('The id of its header, such as `dlh_…`.'),
    entity_id: z.string().describe('The principal entity id that the operator issued.'),
    provider_template_id: z
      .string()
      .nullable()
      .describe('The template id that the operator issued with the approval, or `null`.'),
    rejection_reason: rejectionReason,
    created_at: createdAt,
    updated_at: z.iso.datetime().describe('When the template was last changed.'),
  })
  .meta({
    id: 'DltTemplate',
    examples: [
      {
        id: 'dlt_01k5w3v8q6e9rbx2t7m4n0c1yz',
        ...exampleTemplate,
        ...exampleState,
        entity_id: exampleEntity.entity_id,
        provider_template_id: null,
        updated_at: exampleInstant,
      },
    ],
  })
export type DltCategory = (typeof categories)[number]
