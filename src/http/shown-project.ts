import type { z } from 'zod'
import type { Project } from '../projects/shapes.ts'
import type { ProjectRow } from '../projects/store.ts'

export const shownProject = (row: ProjectRow): z.output<typeof Project> => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  is_default: row.is_default,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
