/** A template that is found once and rendered for many recipients. */
import { linkMark, type TemplateParts } from './compiled.ts'
import { type CompiledTemplate, compile, type TemplateVariables } from './language.ts'
import { unsubscribeName } from './parse.ts'
import { assertContent, onOneLine, type Rendered, renderPart } from './render-parts.ts'

export const openTemplate = (parts: TemplateParts, subjects: readonly string[]) => {
  const { channel, html, text } = parts
  const own: (CompiledTemplate | null)[] =
    subjects.length === 0 || channel === 'sms'
      ? [parts.subject]
      : subjects.map((source) => compile(source, { html: false }))
  const all = [...own, html, text].filter((part) => part !== null)
  const unsupplied = channel === 'sms' && all.some(({ hasLink }) => hasLink) ? [unsubscribeName] : []

  const rendered = (part: CompiledTemplate | null | undefined, variables: TemplateVariables): string | null =>
    part ? renderPart(part, variables) : null

  const subjectOf = (part: CompiledTemplate | null | undefined, variables: TemplateVariables): string | null => {
    const title = rendered(part, variables)
    return title === null ? null : onOneLine(title)
  }

  return {
    /**
     * The names that the template needs and the variables do not supply. Every subject counts, whichever one a recipient
     * gets. Text messages have no unsubscribe link, so its name is never supplied.
     */
    missing: (variables: TemplateVariables): string[] => [
      ...all.flatMap((part) => part.missing(variables)),
      ...unsupplied,
    ],
    /** Names that are not supplied render empty. Rejects content that exceeds a cap. */
    render: (variables: TemplateVariables, subject: number): Rendered => {
      const filled: Rendered = {
        subject: subjectOf(own[subject % own.length], variables),
        html: rendered(html, variables),
        text: rendered(text, variables),
      }
      assertContent(channel, filled)
      if (channel === 'email') return filled
      return { ...filled, text: filled.text?.replaceAll(linkMark, () => '') ?? null }
    },
    /** Every subject that a recipient can get. */
    subjects: (variables: TemplateVariables): string[] => own.map((part) => subjectOf(part, variables) ?? ''),
  }
}

export type OpenTemplate = ReturnType<typeof openTemplate>
