import { invalid } from '../../../../platform/ground/errors.ts'
import type { RenderTemplates } from '../../../templates/render.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../email-draft.ts'
import { maxSubjectLength } from '../shapes.ts'
import { marked } from './unsubscribe-gate.ts'

const orUndefined = (text: string | null): string | undefined => text ?? undefined

/** Renders the template into the fields that the request leaves out. */
export const templateGate = (templates: RenderTemplates): Gate<EmailDraft> => {
  const fill = async (draft: EmailDraft, template: NonNullable<EmailDraft['template']>): Promise<void> => {
    const rendered = await templates.render(draft.by, {
      ...template,
      channel: 'email',
      given: { subject: orUndefined(draft.subject), html: orUndefined(draft.html), text: orUndefined(draft.text) },
    })
    draft.subject = rendered.subject
    draft.html = draft.html === null ? rendered.html : marked(draft.html)
    draft.text = draft.text === null ? rendered.text : marked(draft.text)
  }
  return {
    name: 'template',
    at: ['single'],
    check: (draft) => (draft.template ? fill(draft, draft.template) : undefined),
  }
}

/**
 * Requires a subject and content after the template is rendered. Without a template the schema has checked this, and
 * the subject of a message over SMTP may be empty.
 */
export const contentGate: Gate<EmailDraft> = {
  name: 'content',
  at: ['single'],
  check: ({ template, subject, html, text }) => {
    if (template && !subject) throw invalid(['subject'], 'custom', 'The template does not supply a subject.')
    // The schema limits the subject of the request, but not a rendered one.
    if (subject && subject.length > maxSubjectLength)
      throw invalid(['subject'], 'too_big', 'Must be at most 998 characters.')
    if (!html && !text) throw invalid(['html'], 'custom', 'The template supplies neither html nor text.')
  },
}
