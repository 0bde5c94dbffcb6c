import { z } from 'zod'
import { givenId, patternText } from '../ground/bounded-text.ts'
import { longestName, normaliseName } from './name.ts'
import { recordNames } from './records.ts'
import { regions } from './region.ts'

export const domainStatuses = ['pending', 'verified', 'unverified'] as const
export type DomainStatus = (typeof domainStatuses)[number]

export const dkimStatuses = [
  'PENDING',
  'SUCCESS',
  'FAILED',
  'TEMPORARY_FAILURE',
  'NOT_STARTED',
  'IDENTITY_NOT_FOUND',
] as const
export type DkimStatus = (typeof dkimStatuses)[number]

/** The DNS limit for a whole host name, here the return path and the domain name together. */
const longestHost = 253

const name = z
  .string()
  .min(1)
  .max(1_000)
  .transform((text, context): string => {
    const normal = normaliseName(text)
    if (normal === undefined) {
      context.addIssue({
        code: 'custom',
        message: `Must be a domain name you own, not an address or public suffix, with at most ${longestName} characters.`,
      })
      return z.NEVER
    }
    return normal
  })
  .meta({ examples: ['example.com'] })

const label = patternText(
  /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/,
  63,
  'Must be a single DNS label, such as send.',
).toLowerCase()

export const CreateDomain = z
  .object({
    name,
    region: z.enum(regions).default('us-east-1'),
    project_id: givenId.nullable().optional(),
    tenant_id: givenId.nullable().optional(),
    return_path: label.default('send'),
    inbound: z.boolean().default(false),
  })
  .superRefine((body, context) => {
    // A name that is too long by itself is already reported.
    if (body.name.length <= longestName && `${body.return_path}.${body.name}`.length > longestHost) {
      const message = `Must have at most ${longestHost} characters together with the domain name.`
      context.addIssue({ code: 'custom', path: ['return_path'], message })
    }
  })
  .meta({ id: 'CreateDomain' })
export type CreateDomain = z.output<typeof CreateDomain>

export const PatchDomain = z
  .object({ ip_pool_id: givenId.nullable().optional(), inbound: z.boolean().optional() })
  .meta({ id: 'PatchDomain' })
export type PatchDomain = z.output<typeof PatchDomain>

export const StartWarmup = z.object({ days: z.int().min(1).max(30).default(14) }).meta({ id: 'StartWarmup' })
export type StartWarmup = z.output<typeof StartWarmup>

const at = z.iso.datetime()

const DomainRecord = z
  .strictObject({
    record: z.enum(recordNames),
    type: z.enum(['TXT', 'MX']),
    name: z.string(),
    value: z.string(),
    ttl: z.int(),
    priority: z.int().nullable(),
    required: z
      .boolean()
      .meta({ description: 'Whether verification needs the record. Only the DKIM record is required.' }),
    status: z.enum(['pending', 'found', 'mismatch']),
  })
  .meta({ id: 'DomainRecord' })

const Warmup = z
  .strictObject({
    status: z.literal('active'),
    days: z.int(),
    day: z.int().meta({ description: 'Days since warmup started. The UTC day on which it started is day 0.' }),
    daily_cap: z.int(),
    sent_today: z.int(),
    started_at: at,
    ends_at: at,
  })
  .meta({ id: 'DomainWarmup' })

export const Domain = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    status: z.enum(domainStatuses),
    dkim_status: z.enum(dkimStatuses),
    region: z.enum(regions),
    project_id: z.string(),
    tenant_id: z.string().nullable(),
    ip_pool_id: z.string().nullable(),
    inbound: z.boolean(),
    warmup: Warmup.nullable(),
    created_at: at,
    verified_at: at.nullable(),
    last_checked_at: at.nullable(),
    records: z.array(DomainRecord),
  })
  .meta({ id: 'Domain' })

const poolName = z.string().trim().min(1).max(100)
const ipCount = z.int().min(1).max(50)

export const CreateIpPool = z
  .object({ name: poolName, region: z.enum(regions).default('us-east-1'), ip_count: ipCount.default(1) })
  .meta({ id: 'CreateIpPool' })
export type CreateIpPool = z.output<typeof CreateIpPool>

export const PatchIpPool = z
  .object({ name: poolName.optional(), ip_count: ipCount.optional(), paused: z.boolean().optional() })
  .meta({ id: 'PatchIpPool' })
export type PatchIpPool = z.output<typeof PatchIpPool>

export const IpPool = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    region: z.enum(regions),
    paused: z.boolean(),
    ip_count: z.int(),
    ips: z.array(
      z.strictObject({
        address: z.string().nullable().meta({ description: 'Null until the address is provisioned.' }),
        status: z.enum(['provisioning', 'warming', 'active']),
      }),
    ),
    domain_ids: z.array(z.string()),
    created_at: at,
  })
  .meta({ id: 'IpPool' })
