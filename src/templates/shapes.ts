import { z } from 'zod'
import { type Channel, channels } from '../ground/channel.ts'
import { VariablesShape } from './variables.ts'
import { maxWarnings, warningCodes } from './warnings.ts'

const slug = z
  .string()
  .min(1)
  .max(64)
  .regex(
    /^[a-z0-9]+(-[a-z0-9]+)*$/,
    'Must contain only lower-case letters and digits, with single dashes between them.',
  )
const subject = z.string().max(998).nullable().optional()
const content = z.string().max(1_000_000).nullable().optional()

/** The content that the channel requires and the template lacks; undefined when nothing is missing. */
export const contentFault = (template: {
  channel: Channel
  subject?: string | null | undefined
  html?: string | null | undefined
  text?: string | null | undefined
}): { path: [string]; message: string } | undefined => {
  if (template.channel === 'sms') {
    return template.text ? undefined : { path: ['text'], message: 'An SMS template needs text.' }
  }
  if (!template.subject) return { path: ['subject'], message: 'An email template needs a subject.' }
  if (template.html || template.text) return undefined
  return { path: ['html'], message: 'An email template needs html or text.' }
}

export const CreateTemplate = z
  .object({ slug, channel: z.enum(channels), subject, html: content, text: content })
  .superRefine((template, context) => {
    const fault = contentFault(template)
    if (fault) context.addIssue({ code: 'custom', ...fault })
  })
  .meta({ id: 'CreateTemplate' })
export type CreateTemplate = z.output<typeof CreateTemplate>

export const PatchTemplate = z
  .object({ slug: slug.optional(), subject, html: content, text: content })
  .meta({ id: 'PatchTemplate' })
export type PatchTemplate = z.output<typeof PatchTemplate>

export const Template = z
  .strictObject({
    id: z.string(),
    slug: z.string(),
    channel: z.enum(channels),
    subject: z.string().nullable(),
    html: z.string().nullable(),
    text: z.string().nullable(),
    tenant_id: z.string().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Template' })

export const PreviewTemplate = z
  .object({
    id: z.string().max(64).optional(),
    slug: z.string().max(64).optional(),
    variables: VariablesShape.default({}),
  })
  .superRefine(({ id, slug }, context) => {
    if ((id === undefined) === (slug === undefined)) {
      context.addIssue({ code: 'custom', path: ['id'], message: 'Set either id or slug.' })
    }
  })
  .meta({ id: 'PreviewTemplate' })
export type PreviewTemplate = z.output<typeof PreviewTemplate>

const TemplateWarning = z
  .strictObject({
    field: z.enum(['subject', 'html', 'text']),
    line: z.int().min(1),
    column: z.int().min(1).meta({ description: 'The position in its line, in UTF-16 code units.' }),
    code: z.enum(warningCodes),
    message: z.string().meta({ description: 'What is wrong and what to write instead.' }),
  })
  .meta({ id: 'TemplateWarning' })

export const TemplatePreview = Template.pick({
  id: true,
  slug: true,
  channel: true,
  subject: true,
  html: true,
  text: true,
})
  .extend({
    warnings: z
      .array(TemplateWarning)
      .max(maxWarnings)
      .meta({ description: 'Braces that the template language does not know and that are sent as text, in order.' }),
  })
  .meta({ id: 'TemplatePreview' })
