import { z } from 'zod'
import { givenId, patternText } from '../../platform/ground/bounded-text.ts'
import { eachRefused, refusing } from '../../platform/ground/refused-fields.ts'
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

export const CreateDomain = refusing(
  z
    .object({
      name: name.describe('The domain that you send from, such as `example.com`. Stored in lower case and ASCII form.'),
      region: z
        .enum(regions)
        .default('us-east-1')
        .describe('The region that email is sent from. It can be changed in the dashboard.'),
      project_id: givenId
        .nullish()
        .describe('The project of the domain. Defaults to the project of the API key, or else to the default project.'),
      tenant_id: givenId
        .nullish()
        .describe('The tenant of the domain. Defaults to the tenant of the request, if it acts for one.'),
      return_path: label
        .default('send')
        .describe('The subdomain that bounces return to: one DNS label of up to 63 letters, digits and hyphens.'),
      inbound: z.boolean().default(false).describe('Whether the domain receives email. Adds an `INBOUND` record.'),
    })
    .superRefine((body, context) => {
      // A name that is too long by itself is already reported.
      if (body.name.length <= longestName && `${body.return_path}.${body.name}`.length > longestHost) {
        const message = `Must have at most ${longestHost} characters together with the domain name.`
        context.addIssue({ code: 'custom', path: ['return_path'], message })
      }
    })
    .meta({ id: 'CreateDomain', examples: [{ name: 'mail.example.com', region: 'eu-west-1' }] }),
  { ip_pool_id: 'Set the IP pool with PATCH /domains/{id}.' },
)
export type CreateDomain = z.output<typeof CreateDomain>

export const PatchDomain = refusing(
  z
    .object({
      ip_pool_id: givenId
        .nullish()
        .describe('The dedicated IP pool that sends the email of the domain. `null` for shared IP addresses.'),
      inbound: z.boolean().optional().describe('Whether the domain receives email.'),
    })
    .meta({ id: 'PatchDomain', examples: [{ inbound: true }] }),
  { return_path: 'Cannot be changed.' },
)
export type PatchDomain = z.output<typeof PatchDomain>

export const StartWarmup = z
  .object({ days: z.int().min(1).max(30).default(14).describe('The number of days of the warmup, 1 to 30.') })
  .meta({ id: 'StartWarmup', examples: [{ days: 21 }] })
export type StartWarmup = z.output<typeof StartWarmup>

/** A check of the records, which changes nothing by itself. */
export const CheckDomain = refusing(
  z.object({ id: givenId }),
  eachRefused(
    ['name', 'region', 'project_id', 'tenant_id', 'return_path', 'inbound', 'ip_pool_id'],
    'This request only checks the DNS records.',
  ),
)
export const ChangeRegion = z.object({ region: z.enum(regions) })
export const BindTenant = z.object({ tenant_id: givenId.nullable() })

const at = z.iso.datetime()

const DomainRecord = z
  .strictObject({
    record: z.enum(recordNames).describe('The purpose of the record.'),
    type: z.enum(['TXT', 'MX']).describe('The type of the DNS record.'),
    name: z.string().describe('The full host name of the record.'),
    value: z.string().describe('The value to publish.'),
    ttl: z.int().describe('The recommended time to live, in seconds.'),
    priority: z.int().nullable().describe('The priority of an MX record. `null` for TXT records.'),
    required: z
      .boolean()
      .meta({ description: 'Whether verification needs the record. Only the DKIM record is required.' }),
    status: z
      .enum(['pending', 'found', 'mismatch'])
      .describe('What the last check found in DNS: no record yet, the expected value or another value.'),
  })
  .meta({ id: 'DomainRecord' })

const Warmup = z
  .strictObject({
    status: z.literal('active').describe('Always `active`. A domain that is not warming up has no warmup.'),
    days: z.int().describe('The number of days of the warmup.'),
    day: z.int().meta({ description: 'Days since warmup started. The UTC day on which it started is day 0.' }),
    daily_cap: z.int().describe('The number of recipients that the domain can send to today, in UTC.'),
    sent_today: z.int().describe('The number of recipients that it has sent to today, in UTC.'),
    started_at: at.describe('When the warmup started.'),
    ends_at: at.describe('When the warmup ends.'),
  })
  .meta({ id: 'DomainWarmup' })

export const Domain = z
  .strictObject({
    id: z.string().describe('The id of the domain, such as `dom_…`.'),
    name: z.string().describe('The domain name, in lower case and ASCII form.'),
    status: z.enum(domainStatuses).describe('You can send from a `verified` domain only.'),
    dkim_status: z.enum(dkimStatuses).describe('The result of the last check of the DKIM record.'),
    region: z.enum(regions).describe('The region that email is sent from.'),
    project_id: z.string().describe('The project of the domain.'),
    tenant_id: z.string().nullable().describe('The tenant of the domain. `null` if it belongs to the organisation.'),
    ip_pool_id: z.string().nullable().describe('The dedicated IP pool of the domain. `null` for shared IP addresses.'),
    inbound: z.boolean().describe('Whether the domain receives email.'),
    warmup: Warmup.nullable().describe('The warmup of the domain. `null` if it is not warming up.'),
    created_at: at.describe('When the domain was added.'),
    verified_at: at.nullable().describe('When the domain was verified, or `null`.'),
    last_checked_at: at.nullable().describe('When the DNS records were last checked, or `null`.'),
    records: z.array(DomainRecord).describe('The DNS records to publish.'),
  })
  .meta({
    id: 'Domain',
    examples: [
      {
        id: 'dom_01k5w3v8q6e9rbx2t7m4n0c1yz',
        name: 'mail.example.com',
        status: 'pending',
        dkim_status: 'PENDING',
        region: 'eu-west-1',
        project_id: 'prj_01k5w3v8q6e9rbx2t7m4n0c1yz',
        tenant_id: null,
        ip_pool_id: null,
        inbound: false,
        warmup: null,
        created_at: '2026-01-15T12:00:00.000Z',
        verified_at: null,
        last_checked_at: null,
        records: [
          {
            record: 'DKIM',
            type: 'TXT',
            name: 'svc1._domainkey.mail.example.com',
            value: 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A…',
            ttl: 3600,
            priority: null,
            required: true,
            status: 'pending',
          },
        ],
      },
    ],
  })
