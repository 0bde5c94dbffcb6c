import type { z } from 'zod'
import type { Rendered } from '../templates/render-parts.ts'
import type { Template, TemplatePreview } from '../templates/shapes.ts'
import type { TemplateRow } from '../templates/store.ts'
import { warningsOf } from '../templates/warnings.ts'

export const shownTemplate = (row: TemplateRow): z.output<typeof Template> => ({
  id: row.id,
  slug: row.slug,
  channel: row.channel,
  subject: row.subject,
  html: row.html,
  text: row.text,
  tenant_id: row.tenant_id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const shownPreview = (row: TemplateRow, rendered: Rendered): z.output<typeof TemplatePreview> => ({
  id: row.id,
  slug: row.slug,
  channel: row.channel,
  ...rendered,
  warnings: warningsOf(row),
})
