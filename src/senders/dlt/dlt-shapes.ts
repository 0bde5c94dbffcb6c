import { z } from 'zod'
import { givenId, patternText } from '../../ground/bounded-text.ts'

export const dltStatuses = ['pending', 'submitted', 'approved', 'rejected'] as const

const categories = ['transactional', 'service_implicit', 'service_explicit', 'promotional'] as const
const category = z.enum(categories)
const entity = givenId.meta({ description: 'The id of an entity, `dle_…`.' })

const entityId = patternText(/^\d{19}$/, 19, 'Must be the 19 digits of the entity id.')

export const CreateDltEntity = z
  .object({
    entity_id: entityId.meta({ description: 'The principal entity id that the operator issued.' }),
    legal_name: z.string().min(1).max(200),
  })
  .meta({ id: 'CreateDltEntity' })
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
  .meta({ id: 'CreateDltHeader' })
export type CreateDltHeader = z.output<typeof CreateDltHeader>

export const CreateDltTemplate = z
  .object({
    entity,
    header: givenId.meta({ description: 'The id of a header of the entity, `dlh_…`.' }),
    name: z.string().min(1).max(100),
    category,
    content: z.string().min(1).max(2_000).meta({
      description: 'The registered text. `{#var#}` marks a variable part of 1 to 30 characters.',
    }),
  })
  .meta({ id: 'CreateDltTemplate' })
export type CreateDltTemplate = z.output<typeof CreateDltTemplate>

const at = z.iso.datetime()
const status = z.enum(dltStatuses)
const rejectionReason = z.string().nullable()

export const DltEntity = z
  .strictObject({
    id: z.string(),
    entity_id: z.string(),
    legal_name: z.string(),
    status,
    rejection_reason: rejectionReason,
    created_at: at,
  })
  .meta({ id: 'DltEntity' })

export const DltHeader = z
  .strictObject({
    id: z.string(),
    entity: z.string(),
    header: z.string(),
    category,
    status,
    rejection_reason: rejectionReason,
    created_at: at,
  })
  .meta({ id: 'DltHeader' })

export const DltTemplateShape = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    status,
    category,
    content: z.string(),
    entity: z.string(),
    header: z.string(),
    entity_id: z.string(),
    provider_template_id: z.string().nullable().meta({ description: 'Issued with the approval.' }),
    rejection_reason: rejectionReason,
    created_at: at,
    updated_at: at,
  })
  .meta({ id: 'DltTemplate' })
export type DltCategory = (typeof categories)[number]
