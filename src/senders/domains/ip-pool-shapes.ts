import { z } from 'zod'
import { refusing } from '../../platform/ground/refused-fields.ts'
import { regions } from './region.ts'

const poolName = z.string().trim().min(1).max(100).describe('A name for people, 1 to 100 characters.')
const ipCount = z.int().min(1).max(50).describe('The number of IP addresses in the pool, 1 to 50.')

export const CreateIpPool = refusing(
  z
    .object({
      name: poolName,
      region: z
        .enum(regions)
        .default('us-east-1')
        .describe('The region of the pool. Only domains of the same region can use it.'),
      ip_count: ipCount.default(1),
    })
    .meta({ id: 'CreateIpPool', examples: [{ name: 'Newsletters', ip_count: 2 }] }),
  { paused: 'A new pool sends. Pause it with PATCH.' },
)
export type CreateIpPool = z.output<typeof CreateIpPool>

export const PatchIpPool = z
  .object({
    name: poolName.optional(),
    ip_count: ipCount.optional(),
    paused: z.boolean().optional().describe('Whether live sends from the domains of the pool are refused.'),
  })
  .meta({ id: 'PatchIpPool', examples: [{ paused: true }] })
export type PatchIpPool = z.output<typeof PatchIpPool>

export const IpPool = z
  .strictObject({
    id: z.string().describe('The id of the pool, such as `ipp_…`.'),
    name: z.string().describe('The name of the pool.'),
    region: z.enum(regions).describe('The region of the pool.'),
    paused: z.boolean().describe('Whether live sends from the domains of the pool are refused.'),
    ip_count: z.int().describe('The number of IP addresses in the pool.'),
    ips: z
      .array(
        z.strictObject({
          address: z.string().nullable().describe('The IP address. `null` until the address is provisioned.'),
          status: z.enum(['provisioning', 'warming', 'active']).describe('The state of the address.'),
        }),
      )
      .describe('The IP addresses of the pool.'),
    domain_ids: z.array(z.string()).describe('The ids of the domains that use the pool.'),
    created_at: z.iso.datetime().describe('When the pool was created.'),
  })
  .meta({
    id: 'IpPool',
    examples: [
      {
        id: 'ipp_01k5w3v8q6e9rbx2t7m4n0c1yz',
        name: 'Newsletters',
        region: 'us-east-1',
        paused: false,
        ip_count: 1,
        ips: [{ address: null, status: 'provisioning' }],
        domain_ids: ['dom_01k5w3v8q6e9rbx2t7m4n0c1yz'],
        created_at: '2026-01-15T12:00:00.000Z',
      },
    ],
  })
