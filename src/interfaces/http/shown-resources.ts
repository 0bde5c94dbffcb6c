/** The resources of the API and the dashboard, and how responses show them. */
import type { z } from 'zod'
import { CreatedKey, Key } from '../../customers/keys/shapes.ts'
import type { KeyRow } from '../../customers/keys/store.ts'
import { Project } from '../../customers/projects/shapes.ts'
import { Tenant, TenantQuota } from '../../customers/tenants/shapes.ts'
import type { TenantRow } from '../../customers/tenants/store.ts'
import { Audience, Contact } from '../../recipients/audiences/shapes.ts'
import { Suppression } from '../../recipients/suppressions/shapes.ts'
import type { SuppressionRow } from '../../recipients/suppressions/store.ts'
import { IpPool } from '../../senders/domains/ip-pool-shapes.ts'
import { Brand, type BrandFields, brandFieldNames } from '../../senders/sms/brands/shapes.ts'
import { Campaign, shownCampaignFields } from '../../senders/sms/campaigns/shapes.ts'
import { type DltCategory, DltEntity, DltHeader, DltTemplateShape } from '../../senders/sms/dlt/dlt-shapes.ts'
import { PhoneNumber } from '../../senders/sms/phone-numbers/shapes.ts'
import { Pool } from '../../senders/sms/pools/pool-shapes.ts'
import type { BrandRow } from '../../senders/sms/store/brand-rows.ts'
import type { CampaignRow } from '../../senders/sms/store/campaign-rows.ts'
import type { DltHeaderRow, DltTemplate } from '../../senders/sms/store/dlt-rows.ts'
import { Job } from '../../sending/blasts/shapes.ts'
import type { CountedJob } from '../../sending/blasts/store/job-rows.ts'
import type { Rendered } from '../../sending/templates/render-parts.ts'
import { Template, type TemplatePreview } from '../../sending/templates/shapes.ts'
import type { TemplateRow } from '../../sending/templates/store.ts'
import { warningsOf } from '../../sending/templates/warnings.ts'
import { resource, shownAs } from './shown-resource.ts'

export const audiences = resource({
  kind: 'audience',
  one: 'audience',
  many: 'audiences',
  item: Audience,
  show: shownAs(Audience),
})

export const contacts = resource({
  kind: 'contact',
  one: 'contact',
  many: 'contacts',
  item: Contact,
  show: shownAs(Contact),
})

const shownBrand = shownAs(Brand)
const brandFieldsOf = ({ fields }: BrandRow) =>
  Object.fromEntries(brandFieldNames.map((name) => [name, fields[name] ?? null])) as BrandFields

export const brands = resource({
  kind: 'brand',
  one: 'brand',
  many: 'brands',
  item: Brand,
  show: (row: BrandRow) => shownBrand({ ...row, ...brandFieldsOf(row) }),
})

type CampaignFields = Parameters<typeof shownCampaign>[0]

const shownCampaign = shownAs(Campaign)
const campaignFieldNames = Object.keys(shownCampaignFields)
const campaignFieldsOf = ({ fields }: CampaignRow) =>
  Object.fromEntries(campaignFieldNames.map((name) => [name, fields[name] ?? null])) as Pick<
    CampaignFields,
    keyof typeof shownCampaignFields
  >

export const campaigns = resource({
  kind: 'campaign',
  one: 'campaign',
  many: 'campaigns',
  item: Campaign,
  show: (row: CampaignRow) => shownCampaign({ ...row, name: row.fields.name, ...campaignFieldsOf(row) }),
})

export const phoneNumbers = resource({
  kind: 'phoneNumber',
  one: 'sender',
  many: 'senders',
  item: PhoneNumber,
  show: shownAs(PhoneNumber),
})

export const pools = resource({ kind: 'pool', one: 'pool', many: 'pools', item: Pool, show: shownAs(Pool) })

export const shownDltEntities = resource({
  kind: 'dltEntity',
  one: 'entity',
  many: 'entities',
  item: DltEntity,
  show: shownAs(DltEntity),
})

const shownDltHeader = shownAs(DltHeader)

export const shownDltHeaders = resource({
  kind: 'dltHeader',
  one: 'header',
  many: 'headers',
  item: DltHeader,
  show: (row: DltHeaderRow) => shownDltHeader({ ...row, category: row.category as DltCategory }),
})

const shownDltTemplate = shownAs(DltTemplateShape)

export const shownDltTemplates = resource({
  kind: 'dltTemplate',
  one: 'template',
  many: 'templates',
  item: DltTemplateShape,
  show: (row: DltTemplate) => shownDltTemplate({ ...row, category: row.category as DltCategory }),
})

export const ipPools = resource({
  kind: 'ipPool',
  one: 'IP pool',
  many: 'IP pools',
  item: IpPool,
  show: shownAs(IpPool),
})

export const projects = resource({
  kind: 'project',
  one: 'project',
  many: 'projects',
  item: Project,
  show: shownAs(Project),
})

const shownTenant = shownAs(Tenant)

export const tenants = resource({
  kind: 'tenant',
  one: 'tenant',
  many: 'tenants',
  item: Tenant,
  show: (row: TenantRow) =>
    shownTenant({ ...row, quotas: { email_monthly: row.email_monthly, sms_monthly: row.sms_monthly } }),
})

const shownQuota = shownAs(TenantQuota)

export const quotas = resource({
  kind: 'tenant',
  one: 'quota',
  many: 'quotas',
  item: TenantQuota,
  show: (row: TenantRow) => shownQuota({ ...row, tenant_id: row.id }),
})

const shownSuppression = shownAs(Suppression)

export const suppressions = resource({
  kind: 'suppression',
  one: 'suppression',
  many: 'suppressions',
  item: Suppression,
  show: (row: SuppressionRow) =>
    shownSuppression({ ...row, scope: row.reason === 'unsubscribe' ? 'broadcast' : 'all' }),
})

export const templates = resource({
  kind: 'template',
  one: 'template',
  many: 'templates',
  item: Template,
  show: shownAs(Template),
})

export const shownPreview = (row: TemplateRow, rendered: Rendered): z.output<typeof TemplatePreview> => ({
  id: row.id,
  slug: row.slug,
  channel: row.channel,
  ...rendered,
  warnings: warningsOf(row),
})

const noMessages = { scheduled: 0, sending: 0, sent: 0, delivered: 0, bounced: 0, failed: 0, canceled: 0 }
const shownJob = shownAs(Job)

export const jobs = resource({
  kind: 'job',
  one: 'job',
  many: 'jobs',
  item: Job,
  show: (row: CountedJob) => shownJob({ ...row, from: row.from_address, counts: { ...noMessages, ...row.counts } }),
})

/** A key as the API and the dashboard show it. Only the response that creates a key contains its secret. */
export const shownKey = shownAs(Key)

export const keys = resource({ kind: 'key', one: 'API key', many: 'API keys', item: Key, show: shownKey })

/** A new key, with its secret. */
export const newKeys = resource({
  ...keys,
  item: CreatedKey,
  show: ({ row, key }: { row: KeyRow; key: string }) => {
    const { id, name, environment, ...rest } = shownKey(row)
    return { id, name, environment, key, ...rest }
  },
})
