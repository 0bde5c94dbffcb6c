import { useEffect, useState } from 'react'
import { ApiError } from '../../../api/api-error.ts'
import { api, unwrap } from '../../../api/client.ts'
import type { Channel, TemplatePreview } from '../../../parts/template-data.ts'
import type { Variables } from '../../../parts/template-variables.ts'
import type { Content, Parts } from './content.ts'

export type Preview = {
  /** Of which content the preview is. */
  parts: Parts
  result: TemplatePreview
  /** Variables without a value. The preview shows their tags. */
  missing: string[]
}

type Given = { id: string; channel: Channel; parts: Parts; variables: Variables }

const missingIn = (error: unknown): string[] =>
  error instanceof ApiError && error.code === 'TEMPLATE_MISSING_VARIABLES'
    ? error.fields.map(({ path }) => String(path[1]))
    : []

const loadPreview = async (given: Given, signal: AbortSignal): Promise<Preview> => {
  const { id, channel, parts } = given
  const text = parts.text || null
  const content = channel === 'sms' ? { text } : { subject: parts.subject || null, html: parts.html || null, text }
  const ask = (variables: Variables) =>
    unwrap(api.POST('/api/internal/templates/preview', { body: { id, variables, ...content }, signal }))
  try {
    return { parts, result: await ask(given.variables), missing: [] }
  } catch (error) {
    const missing = missingIn(error)
    if (missing.length === 0) throw error
    const shown = Object.fromEntries(missing.map((name) => [name, `{{${name}}}`]))
    return { parts, result: await ask({ ...given.variables, ...shown }), missing }
  }
}

/** Laying out a large mail takes longer than a key may wait, so it is left to a longer pause. */
const largeHtml = 30_000
const largeDelayMs = 1_200

type Shown = { preview?: Preview | undefined; error?: unknown }

/** The last preview stays until the next one is there. While somebody types, none is shown: it would interrupt them. */
export const usePreview = (content: Content, { id, channel, parts, variables }: Given): Shown => {
  const [shown, setShown] = useState<Shown>({})
  useEffect(() => {
    const controller = new AbortController()
    const show = (next: Shown) => {
      if (!controller.signal.aborted && !content.isTyping()) setShown((now) => ({ preview: now.preview, ...next }))
    }
    const load = () =>
      loadPreview({ id, channel, parts, variables }, controller.signal).then(
        (preview) => show({ preview, error: undefined }),
        (error) => show({ error }),
      )
    const timer = setTimeout(load, parts.html.length > largeHtml ? largeDelayMs : 0)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [content, id, channel, parts, variables])
  return shown
}
