/** Renders the parts of a compiled template. */
import type { Channel } from '../../platform/ground/channel.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import type { TemplateParts } from './compiled.ts'
import { CapFault, type CompiledTemplate, type TemplateVariables } from './language.ts'

/** Rendered content. In `html` and `text`, `linkMark` marks the place of the unsubscribe link. */
export type Rendered = { subject: string | null; html: string | null; text: string | null }

/** Parts that the send supplies itself. They replace the template's parts and are not rendered. */
export type GivenContent = { subject?: string; html?: string; text?: string }

export const partNames = ['subject', 'html', 'text'] as const

/** Limits the size of the response for a hostile template. */
const maxReportedNames = 1_000

export const missingVariables = (names: ReadonlySet<string>): Failure =>
  new Failure('TEMPLATE_MISSING_VARIABLES', {
    errors: [...names]
      .slice(0, maxReportedNames)
      .map((name) => ({ path: ['variables', name], code: 'required', message: 'Required.' })),
  })

const assertSupplied = (parts: TemplateParts, variables: TemplateVariables, given: GivenContent): void => {
  const missing = new Set(
    partNames.filter((part) => given[part] === undefined).flatMap((part) => parts[part]?.missing(variables) ?? []),
  )
  if (missing.size > 0) throw missingVariables(missing)
}

const capMessages = {
  iterations: 'The loops of the template run more than 5,000 times.',
  loopCharacters: 'The loops of the template produce more than 2,000,000 characters.',
  characters: 'The template renders to more than 10,000,000 characters.',
  steps: 'The template needs more than 1,000,000 steps to render.',
} as const

export const renderPart = (template: CompiledTemplate, variables: TemplateVariables): string => {
  try {
    return template.render(variables)
  } catch (error) {
    if (error instanceof CapFault) throw new Failure('PAYLOAD_TOO_LARGE', { message: capMessages[error.cap] })
    throw error
  }
}

/** A subject becomes a header, so a line break in a value must not start another header. */
export const onOneLine = (subject: string): string => subject.replace(/[\r\n]+/g, ' ')

export const renderParts = (parts: TemplateParts, variables: TemplateVariables, given: GivenContent): Rendered => {
  const own: GivenContent = parts.channel === 'sms' ? { ...(given.text !== undefined && { text: given.text }) } : given
  assertSupplied(parts, variables, own)
  const part = (name: (typeof partNames)[number]): string | null => {
    const template = parts[name]
    return own[name] ?? (template ? renderPart(template, variables) : null)
  }
  const subject = part('subject')
  return {
    subject: subject === null || own.subject !== undefined ? subject : onOneLine(subject),
    html: part('html'),
    text: part('text'),
  }
}

/** Text messages have a rule of their own for an empty body. */
export const assertContent = (channel: Channel, { html, text }: Rendered): void => {
  if (channel === 'email' && !html && !text)
    throw invalid(['template'], 'custom', 'The template renders to empty html and text.')
}
