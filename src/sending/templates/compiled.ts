/** A cache of compiled templates. Each version is compiled once, and the size of the cache is limited. */
import { randomUUID } from 'node:crypto'
import { type CompiledTemplate, type CompileOptions, compile } from './language.ts'
import type { TemplateRow } from './store.ts'

export type TemplateParts = {
  channel: TemplateRow['channel']
  subject: CompiledTemplate | null
  html: CompiledTemplate | null
  text: CompiledTemplate | null
}

/**
 * Marks the place of the unsubscribe link in rendered html and text. The random part keeps variables from inserting a
 * link: a recipient named `{{unsubscribe_url}}` is addressed by exactly that name.
 */
export const linkMark = `{{unsubscribe_url ${randomUUID()}}}`

export const compileParts = ({ channel, subject, html, text }: TemplateRow): TemplateParts => {
  const part = (source: string | null, options: CompileOptions) => (source === null ? null : compile(source, options))
  // SMS templates use only the text.
  if (channel === 'sms')
    return { channel, subject: null, html: null, text: part(text, { html: false, link: linkMark }) }
  return {
    channel,
    // A subject never contains the unsubscribe link.
    subject: part(subject, { html: false }),
    html: part(html, { html: true, link: linkMark }),
    text: part(text, { html: false, link: linkMark }),
  }
}

const weightOf = ({ subject, html, text }: TemplateParts): number =>
  [subject, html, text].reduce((sum, part) => sum + (part?.weight ?? 0), 0)

/** In characters, roughly. Enough for about 10,000 typical templates, or 36 of the largest possible ones. */
const defaultCapacity = 50_000_000

/** An id and a version identify immutable content, so entries never become stale. Evicts the least recently used. */
export const makeCompiledTemplates = (capacity = defaultCapacity) => {
  const entries = new Map<string, { parts: TemplateParts; weight: number }>()
  let total = 0
  const keyOf = (id: string, version: number) => `${id}:${version}`

  const cached = (id: string, version: number): TemplateParts | undefined => {
    const key = keyOf(id, version)
    const entry = entries.get(key)
    if (!entry) return undefined
    entries.delete(key)
    entries.set(key, entry)
    return entry.parts
  }

  return {
    cached,
    of: (row: TemplateRow): TemplateParts => {
      const known = cached(row.id, row.version)
      if (known) return known
      const parts = compileParts(row)
      const weight = weightOf(parts)
      if (weight > capacity) return parts
      entries.set(keyOf(row.id, row.version), { parts, weight })
      total += weight
      for (const [key, entry] of entries) {
        if (total <= capacity) break
        entries.delete(key)
        total -= entry.weight
      }
      return parts
    },
  }
}
