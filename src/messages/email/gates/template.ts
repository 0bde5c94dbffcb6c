import { invalid } from '../../../ground/errors.ts'
import type { RenderTemplates } from '../../../templates/render.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../draft.ts'

const given = (text: string | null): string | undefined => text ?? undefined

/** Derives from the template what the request left out. */
export const templateGate = (templates: RenderTemplates): Gate<EmailDraft> => ({
  name: 'template',
  at: ['single'],
  check: async (draft) => {
    if (!draft.template) return
    const rendered = await templates.render(draft.by, {
      ...draft.template,
      channel: 'email',
      given: { subject: given(draft.subject), html: given(draft.html), text: given(draft.text) },
    })
    draft.subject = rendered.subject
    draft.html = rendered.html
    draft.text = rendered.text
  },
})

/** What one line of a message may hold; a rendered subject may come out longer than a given one. */
const longestSubject = 998

/** There is something to say once the template is rendered; without one the shape of the request has seen to it. */
export const contentGate: Gate<EmailDraft> = {
  name: 'content',
  at: ['single'],
  check: ({ subject, html, text }) => {
    if (!subject) throw invalid(['subject'], 'custom', 'The template supplies none.')
    if (subject.length > longestSubject)
      throw invalid(['subject'], 'too_big', 'Takes at most 998 characters.')
    if (!html && !text) throw invalid(['html'], 'custom', 'The template supplies neither html nor text.')
  },
}
