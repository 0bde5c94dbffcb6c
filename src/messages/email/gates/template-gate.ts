import { invalid } from '../../../ground/errors.ts'
import type { RenderTemplates } from '../../../templates/render.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../email-draft.ts'
import { longestSubject } from '../shapes.ts'
import { marked } from './unsubscribe-gate.ts'

const given = (text: string | null): string | undefined => text ?? undefined

/** Derives from the template what the request left out. */
export const templateGate = (templates: RenderTemplates): Gate<EmailDraft> => {
  const fill = async (draft: EmailDraft, template: NonNullable<EmailDraft['template']>): Promise<void> => {
    const rendered = await templates.render(draft.by, {
      ...template,
      channel: 'email',
      given: { subject: given(draft.subject), html: given(draft.html), text: given(draft.text) },
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

/** There is something to say once the template is rendered; without one the shape of the request has seen to it. */
export const contentGate: Gate<EmailDraft> = {
  name: 'content',
  at: ['single'],
  check: ({ subject, html, text }) => {
    if (!subject) throw invalid(['subject'], 'custom', 'The template supplies none.')
    // A rendered one may come out longer than a given one may be.
    if (subject.length > longestSubject) throw invalid(['subject'], 'too_big', 'Takes at most 998 characters.')
    if (!html && !text) throw invalid(['html'], 'custom', 'The template supplies neither html nor text.')
  },
}
