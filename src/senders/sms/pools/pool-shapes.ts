import { z } from 'zod'
import { givenId } from '../../../platform/ground/bounded-text.ts'

const slug = z
  .string()
  .min(1)
  .max(64)
  .regex(
    /^[a-z0-9]+(-[a-z0-9]+)*$/,
    'Must contain only lower-case letters and digits, with single dashes between them.',
  )
  .meta({ description: 'The name that messages use in `from_pool`. It cannot be changed.' })
const name = z.string().min(1).max(100).describe('A name for people, up to 100 characters.')
const members = z
  .array(givenId)
  .min(1)
  .max(100)
  .transform((ids) => [...new Set(ids)])
  .meta({ description: 'Phone numbers and sender ids of the organisation, in the order in which they are shown.' })

const exampleNumberId = 'num_01k5w3v8q6e9rbx2t7m4n0c1yz'

export const CreatePool = z
  .object({
    slug,
    name,
    tenant_id: givenId
      .nullish()
      .describe('The tenant that the pool belongs to. Defaults to the tenant of the request.'),
    phone_number_ids: members,
  })
  .meta({
    id: 'CreatePool',
    examples: [{ slug: 'order-updates', name: 'Order updates', phone_number_ids: [exampleNumberId] }],
  })
export type CreatePool = z.output<typeof CreatePool>

export const PatchPool = z
  .object({ name: name.optional(), phone_number_ids: members.optional() })
  .meta({ id: 'PatchPool', examples: [{ name: 'Delivery updates' }] })
export type PatchPool = z.output<typeof PatchPool>

export const Pool = z
  .strictObject({
    id: z.string().describe('The id of the pool, such as `pol_…`.'),
    slug: z.string().describe('The name that messages use in `from_pool`.'),
    name: z.string().describe('The name for people.'),
    tenant_id: z.string().nullable().describe('The tenant of the pool. `null` if it belongs to the organisation.'),
    phone_number_ids: z.array(z.string()).describe('The ids of the numbers and sender ids in the pool, in your order.'),
    created_at: z.iso.datetime().describe('When the pool was created.'),
    updated_at: z.iso.datetime().describe('When the pool was last changed.'),
  })
  .meta({
    id: 'Pool',
    examples: [
      {
        id: 'pol_01k5w3v8q6e9rbx2t7m4n0c1yz',
        slug: 'order-updates',
        name: 'Order updates',
        tenant_id: null,
        phone_number_ids: [exampleNumberId],
        created_at: '2026-01-15T12:00:00.000Z',
        updated_at: '2026-01-15T12:00:00.000Z',
      },
    ],
  })
