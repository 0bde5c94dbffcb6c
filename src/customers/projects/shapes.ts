import { z } from 'zod'
import { patternText } from '../../platform/ground/bounded-text.ts'

const slug = patternText(
  /^[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?$/,
  48,
  'Must be 1 to 48 lowercase letters, digits or hyphens, and must not start or end with a hyphen.',
)
const name = z.string().trim().min(1).max(100).describe('A name for people, 1 to 100 characters.')
const slugFormat = '1 to 48 lowercase letters, digits or hyphens, not starting or ending with a hyphen.'

export const CreateProject = z
  .object({
    name,
    slug: slug
      .optional()
      .describe(
        `A short name that is unique in your organisation: ${slugFormat} If you omit it, it is derived from \`name\`.`,
      ),
  })
  .meta({ id: 'CreateProject', examples: [{ name: 'Shop', slug: 'shop' }] })
export type CreateProject = z.output<typeof CreateProject>

export const PatchProject = z
  .object({
    name: name.optional(),
    slug: slug.optional().describe(`A short name that is unique in your organisation: ${slugFormat}`),
  })
  .meta({ id: 'PatchProject', examples: [{ name: 'Web shop' }] })
export type PatchProject = z.output<typeof PatchProject>

export const Project = z
  .strictObject({
    id: z.string().describe('The id of the project, such as `prj_…`.'),
    name: z.string().describe('The name of the project.'),
    slug: z.string().describe('The short name of the project, unique in your organisation.'),
    is_default: z
      .boolean()
      .describe(
        'Whether domains that name no project belong to this one. Every organisation has one default project, which cannot be deleted.',
      ),
    created_at: z.iso.datetime().describe('When the project was created.'),
    updated_at: z.iso.datetime().describe('When the project was last changed.'),
  })
  .meta({
    id: 'Project',
    examples: [
      {
        id: 'prj_01k5w3v8q6e9rbx2t7m4n0c1yz',
        name: 'Shop',
        slug: 'shop',
        is_default: false,
        created_at: '2026-01-15T12:00:00.000Z',
        updated_at: '2026-01-15T12:00:00.000Z',
      },
    ],
  })
