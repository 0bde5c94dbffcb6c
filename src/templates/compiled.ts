/** Templates as they are rendered: each part compiled once per version, and only so many kept. */
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
 * Where a rendered html or text wants the unsubscribe link. Unlike the tag it cannot come from a value: whoever calls
 * himself `{{unsubscribe_url}}` is written to under that name.
 */
export const linkMark = `{{unsubscribe_url ${randomUUID()}}}`

const compileParts = ({ channel, subject, html, text }: TemplateRow): TemplateParts => {
  const part = (source: string | null, options: CompileOptions) => (source === null ? null : compile(source, options))
  // Of an SMS template only the text is ever used.
  if (channel === 'sms') return { channel, subject: null, html: null, text: part(text, { html: false }) }
  return {
    channel,
    // No subject holds a link.
    subject: part(subject, { html: false }),
    html: part(html, { html: true, link: linkMark }),
    text: part(text, { html: false, link: linkMark }),
  }
}

const weightOf = ({ subject, html, text }: TemplateParts): number =>
  [subject, html, text].reduce((sum, part) => sum + (part?.weight ?? 0), 0)

export interface CompiledTemplates {
  /** The parts of that content, when they are still held. */
  held(id: string, version: number): TemplateParts | undefined
  of(row: TemplateRow): TemplateParts
}

/** In about characters: some ten thousand usual templates, or three dozen of the largest there can be. */
const usualMost = 50_000_000

/** An id and a version name one content for ever, so nothing here grows old; what was used least lately goes first. */
export const makeCompiledTemplates = (most = usualMost): CompiledTemplates => {
  const kept = new Map<string, { parts: TemplateParts; weight: number }>()
  let total = 0
  const keyOf = (id: string, version: number) => `${id}:${version}`

  const held: CompiledTemplates['held'] = (id, version) => {
    const key = keyOf(id, version)
    const entry = kept.get(key)
    if (!entry) return undefined
    kept.delete(key)
    kept.set(key, entry)
    return entry.parts
  }

  return {
    held,
    of: (row) => {
      const known = held(row.id, row.version)
      if (known) return known
      const parts = compileParts(row)
      const weight = weightOf(parts)
      if (weight > most) return parts
      kept.set(keyOf(row.id, row.version), { parts, weight })
      total += weight
      for (const [key, entry] of kept) {
        if (total <= most) break
        kept.delete(key)
        total -= entry.weight
      }
      return parts
    },
  }
}
