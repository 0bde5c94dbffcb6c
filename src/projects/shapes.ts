import { z } from 'zod'
import { patternText } from '../ground/bounded-text.ts'

const slug = patternText(
  /^[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?$/,
  48,
  'Must be 1 to 48 lowercase letters, digits or hyphens, and must not start or end with a hyphen.',
)
const name = z.string().trim().min(1).max(100)

export const CreateProject = z.object({ name, slug: slug.optional() }).meta({ id: 'CreateProject' })
export type CreateProject = z.output<typeof CreateProject>

export const PatchProject = z.object({ name: name.optional(), slug: slug.optional() }).meta({ id: 'PatchProject' })
export type PatchProject = z.output<typeof PatchProject>

export const Project = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    slug: z.string(),
    is_default: z.boolean(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Project' })
