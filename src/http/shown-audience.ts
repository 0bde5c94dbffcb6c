/** Audiences and contacts as responses show them. */
import type { z } from 'zod'
import type { Audience, Contact } from '../audiences/shapes.ts'
import type { AudienceRow } from '../audiences/store/audience-rows.ts'
import type { ContactRow } from '../audiences/store/contact-rows.ts'

export const shownAudience = (row: AudienceRow): z.output<typeof Audience> => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  member_count: row.member_count,
  tenant_id: row.tenant_id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const shownContact = (row: ContactRow): z.output<typeof Contact> => ({
  id: row.id,
  name: row.name,
  email: row.email,
  phone: row.phone,
  metadata: row.metadata,
  tenant_id: row.tenant_id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
