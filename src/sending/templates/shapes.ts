import { z } from 'zod'
import { type Channel, channels } from '../../platform/ground/channel.ts'
import { eachRefused, refusing, tenantByHeader } from '../../platform/ground/refused-fields.ts'
import { VariablesShape, variablesText } from './variables.ts'

const slug = z
  .string()
  .min(1)
  .max(64)
  .regex(
    /^[a-z0-9]+(-[a-z0-9]+)*$/,
    'Must contain only lower-case letters and digits, with single dashes between them.',
  )
  .describe(
    'A name to refer to the template by: 1 to 64 lower-case letters and digits, with single dashes between them.',
  )
const channel = z.enum(channels).describe('The channel of the messages. It cannot be changed later.')
const content = z.string().max(1_000_000).nullable().optional()
const parts = {
  subject: z
    .string()
    .max(998)
    .nullable()
    .optional()
    .describe('The subject, up to 998 characters. Required for email, not used for SMS.'),
  html: content.describe(
    'The HTML body of an email, up to 1,000,000 characters. Values of variables are escaped in it.',
  ),
  text: content.describe('The plain text body, up to 1,000,000 characters. Required for SMS.'),
}

/** The content that the channel requires and the template lacks; undefined when nothing is missing. */
export const contentFault = (
  template: { channel: Channel } & { [Name in 'subject' | 'html' | 'text']?: string | null | undefined },
): { path: [string]; message: string } | undefined => {
  if (template.channel === 'sms') {
    return template.text ? undefined : { path: ['text'], message: 'An SMS template needs text.' }
  }
  if (!template.subject) return { path: ['subject'], message: 'An email template needs a subject.' }
  if (template.html || template.text) return undefined
  return { path: ['html'], message: 'An email template needs html or text.' }
}

export const CreateTemplate = refusing(
  z
    .object({ slug, channel, ...parts })
    .superRefine((template, context) => {
      const fault = contentFault(template)
      if (fault) context.addIssue({ code: 'custom', ...fault })
    })
    .meta({
      id: 'CreateTemplate',
      examples: [
        { slug: 'welcome', channel: 'email', subject: 'Welcome, {{name}}', html: '<p>Hello {{name}}</p>' },
        { slug: 'login-code', channel: 'sms', text: 'Your code is {{code}}.' },
      ],
    }),
  { tenant_id: tenantByHeader },
)
export type CreateTemplate = z.output<typeof CreateTemplate>

export const PatchTemplate = z
  .object({ slug: slug.optional(), ...parts })
  .meta({ id: 'PatchTemplate', examples: [{ subject: 'Welcome to Acme, {{name}}', text: 'Hello {{name}}' }] })
export type PatchTemplate = z.output<typeof PatchTemplate>

const exampleNamed = { id: 'tpl_01k5w3v8q6e9rbx2t7m4n0c1yz', slug: 'welcome', channel: 'email' }

export const Template = z
  .strictObject({
    id: z.string().describe('The id of the template, such as `tpl_…`.'),
    slug: z.string().describe('The name to refer to the template by.'),
    channel: z.enum(channels).describe('The channel of the messages.'),
    subject: z.string().nullable().describe('The subject, or `null` for SMS.'),
    html: z.string().nullable().describe('The HTML body, or `null` if there is none.'),
    text: z.string().nullable().describe('The plain text body, or `null` if there is none.'),
    tenant_id: z
      .string()
      .nullable()
      .describe('The tenant that the template belongs to. `null` if the whole organisation can use it.'),
    created_at: z.iso.datetime().describe('When the template was created.'),
    updated_at: z.iso.datetime().describe('When the template was last changed.'),
  })
  .meta({
    id: 'Template',
    examples: [
      {
        ...exampleNamed,
        subject: 'Welcome, {{name}}',
        html: '<p>Hello {{name}}</p>',
        text: null,
        tenant_id: null,
        created_at: '2026-01-15T12:00:00.000Z',
        updated_at: '2026-01-15T12:00:00.000Z',
      },
    ],
  })

export const PreviewTemplate = refusing(
  z
    .object({
      id: z.string().max(64).optional().describe('The id of the template. Set either `id` or `slug`.'),
      slug: z.string().max(64).optional().describe('The slug of the template. Set either `id` or `slug`.'),
      variables: VariablesShape.default({}).describe(variablesText),
    })
    .superRefine(({ id, slug }, context) => {
      if ((id === undefined) === (slug === undefined)) {
        context.addIssue({ code: 'custom', path: ['id'], message: 'Set either id or slug.' })
      }
    })
    .meta({ id: 'PreviewTemplate', examples: [{ slug: 'welcome', variables: { name: 'Ada' } }] }),
  eachRefused(['subject', 'html', 'text'], 'Only a stored template has a preview here.'),
)
export type PreviewTemplate = z.output<typeof PreviewTemplate>

/** The first ones of a template. More do not help its author. */
export const maxWarnings = 100

const TemplateWarning = z
  .strictObject({
    field: z.enum(['subject', 'html', 'text']).describe('The part of the template that contains the braces.'),
    line: z.int().min(1).describe('The line of the part, starting at 1.'),
    column: z.int().min(1).meta({ description: 'The position in its line, in UTF-16 code units.' }),
    code: z
      .enum(['comment', 'else_if', 'parent_path', 'triple_braces', 'partial', 'misplaced_tag', 'not_a_tag'])
      .describe('What the braces look like.'),
    message: z.string().meta({ description: 'What is wrong and what to write instead.' }),
  })
  .meta({ id: 'TemplateWarning' })
export type TemplateWarning = z.output<typeof TemplateWarning>

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
  .meta({
    id: 'TemplatePreview',
    examples: [{ ...exampleNamed, subject: 'Welcome, Ada', html: '<p>Hello Ada</p>', text: null, warnings: [] }],
  })
