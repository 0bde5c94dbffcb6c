import type { z } from 'zod'
import type { Suppression } from '../suppressions/shapes.ts'
import type { SuppressionRow } from '../suppressions/store.ts'

export const shownSuppression = (row: SuppressionRow): z.output<typeof Suppression> => ({
  id: row.id,
  channel: row.channel,
  value: row.value,
  reason: row.reason,
  scope: row.reason === 'unsubscribe' ? 'broadcast' : 'all',
  tenant_id: row.tenant_id,
  source: row.source,
  message_id: row.message_id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
