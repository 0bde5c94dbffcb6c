import { z } from 'zod'
import { givenId } from '../../ground/bounded-text.ts'

const slug = z
  .string()
  .min(1)
  .max(64)
  .regex(
    /^[a-z0-9]+(-[a-z0-9]+)*$/,
    'Must contain only lower-case letters and digits, with single dashes between them.',
  )
  .meta({ description: 'The name that messages use in `from_pool`. It cannot be changed.' })
const name = z.string().min(1).max(100)
const members = z
  .array(givenId)
  .min(1)
  .max(100)
  .transform((ids) => [...new Set(ids)])
  .meta({ description: 'Phone numbers and sender ids of the organisation, in the order in which they are shown.' })

export const CreatePool = z
  .object({
    slug,
    name,
    tenant_id: givenId.nullable().optional().meta({ description: 'Defaults to the tenant of the request.' }),
    phone_number_ids: members,
  })
  .meta({ id: 'CreatePool' })
export type CreatePool = z.output<typeof CreatePool>

export const PatchPool = z
  .object({ name: name.optional(), phone_number_ids: members.optional() })
  .meta({ id: 'PatchPool' })
export type PatchPool = z.output<typeof PatchPool>

export const Pool = z
  .strictObject({
    id: z.string(),
    slug: z.string(),
    name: z.string(),
    tenant_id: z.string().nullable(),
    phone_number_ids: z.array(z.string()),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Pool' })
