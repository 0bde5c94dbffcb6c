/** Registrations for India as responses show them. */
import type { z } from 'zod'
import type { DltCategory, DltEntity, DltHeader, DltTemplateShape } from '../senders/dlt/dlt-shapes.ts'
import type { DltEntityRow, DltHeaderRow, DltTemplate } from '../senders/store/dlt-rows.ts'

export const shownDltEntity = (row: DltEntityRow): z.output<typeof DltEntity> => ({
  id: row.id,
  entity_id: row.entity_id,
  legal_name: row.legal_name,
  status: row.status,
  rejection_reason: row.rejection_reason,
  created_at: row.created_at.toISOString(),
})

export const shownDltHeader = (row: DltHeaderRow): z.output<typeof DltHeader> => ({
  id: row.id,
  entity: row.entity,
  header: row.header,
  category: row.category as DltCategory,
  status: row.status,
  rejection_reason: row.rejection_reason,
  created_at: row.created_at.toISOString(),
})

export const shownDltTemplate = (row: DltTemplate): z.output<typeof DltTemplateShape> => ({
  id: row.id,
  name: row.name,
  status: row.status,
  category: row.category as DltCategory,
  content: row.content,
  entity: row.entity,
  header: row.header,
  entity_id: row.entity_id,
  provider_template_id: row.provider_template_id,
  rejection_reason: row.rejection_reason,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
