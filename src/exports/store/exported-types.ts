/** What an export of an org contains: the types in the order of the file, and where their rows come from. */

import { statement } from '../../db/statement.ts'
import {
  anyText,
  gathered,
  type LineColumn,
  lineOf,
  list,
  plain,
  time,
  timeOrNull,
  word,
  wordOrNull,
} from './line-columns.ts'
import { messageColumns } from './message-columns.ts'

export type ExportedType = {
  type: string
  table: string
  columns: readonly LineColumn[]
  /** Tables after the first, and conditions besides the org. The table has the alias `t`. */
  joins?: string
  where?: string
  /** The column that holds the org. */
  orgColumn?: string
}

const created = time('created_at', 't.created_at')
const times = [created, time('updated_at', 't.updated_at')]
const tenantId = wordOrNull('tenant_id', 't.tenant_id')
const id = word('id', 't.id')
const madeIn = word('created_environment', 't.created_environment')

const org: ExportedType = {
  type: 'org',
  table: 'orgs',
  orgColumn: 'id',
  columns: [
    id,
    anyText('name', 't.name'),
    anyText('slug', 't.slug'),
    word('plan', 't.plan'),
    wordOrNull('owner_user_id', 't.owner_user_id'),
    plain('rate_limit_per_minute', 't.rate_limit_per_minute'),
    plain('email_monthly', 't.email_monthly'),
    plain('sms_monthly', 't.sms_monthly'),
    plain('spend_cap_usd', 'round(t.spend_cap_micros / 1000000.0, 2)'),
    anyText('sms_geo', 't.sms_geo'),
    timeOrNull('sms_geo_updated_at', 't.sms_geo_updated_at'),
    wordOrNull('sms_geo_updated_by', 't.sms_geo_updated_by'),
    plain('sms_quiet_hours', 't.sms_quiet_hours'),
    plain('sso_enforced', 't.sso_enforced'),
    timeOrNull('sso_enforced_at', 't.sso_enforced_at'),
    plain('max_session_age_hours', 't.max_session_age_hours'),
    plain('max_sessions_per_user', 't.max_sessions_per_user'),
    timeOrNull('suspended_at', 't.suspended_at'),
    anyText('suspension_reason', 't.suspension_reason'),
    ...times,
  ],
}

const member: ExportedType = {
  type: 'member',
  table: 'memberships',
  joins: 'join users u on u.id = t.user_id',
  columns: [
    id,
    word('user_id', 't.user_id'),
    anyText('email', 'u.email'),
    anyText('name', 'u.name'),
    anyText('role', 't.role'),
    anyText('source', 't.source'),
    plain('two_factor_enabled', 'u.totp_enabled_at is not null'),
    plain('sso_exempt', 't.sso_exempt'),
    timeOrNull('sso_signed_in_at', 't.sso_signed_in_at'),
    created,
  ],
}

const invitation: ExportedType = {
  type: 'invitation',
  table: 'invitations',
  columns: [
    id,
    anyText('email', 't.email'),
    word('role', 't.role'),
    plain('sso_exempt', 't.sso_exempt'),
    wordOrNull('invited_by', 't.invited_by'),
    created,
    time('expires_at', 't.expires_at'),
    timeOrNull('ended_at', 't.ended_at'),
  ],
}

const apiKey: ExportedType = {
  type: 'api_key',
  table: 'api_keys',
  columns: [
    id,
    anyText('name', 't.name'),
    word('environment', 't.environment'),
    anyText('prefix', 't.prefix'),
    anyText('last_four', 't.last_four'),
    list('scopes', 't.scopes'),
    tenantId,
    wordOrNull('project_id', 't.project_id'),
    list('allowed_domain_ids', 't.allowed_domain_ids'),
    list('allowed_cidrs', 't.allowed_cidrs'),
    plain('rate_limit_per_minute', 't.rate_limit_per_minute'),
    wordOrNull('created_by', 't.created_by'),
    word('origin', 't.origin'),
    timeOrNull('expires_at', 't.expires_at'),
    timeOrNull('last_used_at', 't.last_used_at'),
    timeOrNull('revoked_at', 't.revoked_at'),
    ...times,
  ],
}

const domain: ExportedType = {
  type: 'domain',
  table: 'domains',
  columns: [
    id,
    anyText('name', 't.name'),
    word('status', 't.status'),
    word('dkim_status', 't.dkim_status'),
    anyText('dkim_selector', 't.dkim_selector'),
    anyText('dkim_public_key', 't.dkim_public_key'),
    anyText('return_path', 't.return_path'),
    anyText('region', 't.region'),
    word('project_id', 't.project_id'),
    tenantId,
    wordOrNull('ip_pool_id', 't.ip_pool_id'),
    plain('inbound', 't.inbound'),
    plain('record_statuses', 't.record_statuses'),
    plain('warmup_days', 't.warmup_days'),
    timeOrNull('warmup_started_at', 't.warmup_started_at'),
    timeOrNull('warmup_ends_at', 't.warmup_ends_at'),
    timeOrNull('verified_at', 't.verified_at'),
    timeOrNull('last_checked_at', 't.last_checked_at'),
    madeIn,
    ...times,
  ],
}

const webhookEndpoint: ExportedType = {
  type: 'webhook_endpoint',
  table: 'webhook_endpoints',
  columns: [
    id,
    anyText('url', 't.url'),
    anyText('description', 't.description'),
    list('events', 't.events'),
    plain('enabled', 't.enabled'),
    wordOrNull('disabled_reason', 't.disabled_reason'),
    timeOrNull('disabled_at', 't.disabled_at'),
    plain('consecutive_failures', 't.consecutive_failures'),
    timeOrNull('secret_rotated_at', 't.secret_rotated_at'),
    tenantId,
    madeIn,
    ...times,
  ],
}

const template: ExportedType = {
  type: 'template',
  table: 'templates',
  columns: [
    id,
    anyText('slug', 't.slug'),
    word('channel', 't.channel'),
    anyText('subject', 't.subject'),
    anyText('html', 't.html'),
    anyText('text', 't.text'),
    plain('version', 't.version'),
    tenantId,
    madeIn,
    ...times,
  ],
}

const audience: ExportedType = {
  type: 'audience',
  table: 'audiences',
  columns: [
    id,
    anyText('name', 't.name'),
    anyText('slug', 't.slug'),
    plain('member_count', 't.member_count'),
    tenantId,
    madeIn,
    ...times,
  ],
}

const contact: ExportedType = {
  type: 'contact',
  table: 'contacts',
  columns: [
    id,
    anyText('email', 't.email'),
    anyText('phone', 't.phone'),
    anyText('name', 't.name'),
    plain('metadata', 't.metadata'),
    gathered(
      'audience_ids',
      `select a.audience_id from audience_members a
       where a.org_id = t.org_id and a.contact_id = t.id order by a.audience_id`,
    ),
    tenantId,
    madeIn,
    ...times,
  ],
}

const suppression: ExportedType = {
  type: 'suppression',
  table: 'suppressions',
  columns: [
    id,
    word('channel', 't.channel'),
    anyText('value', 't.value'),
    word('reason', 't.reason'),
    word('source', 't.source'),
    wordOrNull('message_id', 't.message_id'),
    timeOrNull('unsubscribed_at', 't.unsubscribed_at'),
    anyText('unsubscribe_source', 't.unsubscribe_source'),
    wordOrNull('unsubscribe_message_id', 't.unsubscribe_message_id'),
    tenantId,
    madeIn,
    ...times,
  ],
}

const message: ExportedType = { type: 'message', table: 'messages', columns: messageColumns }

const inbound = (type: string, channel: string, columns: readonly LineColumn[]): ExportedType => ({
  type,
  table: 'inbound_messages',
  where: `t.channel = '${channel}'`,
  columns: [
    id,
    anyText('from', 't.from_address'),
    list('to', 't.to_addresses'),
    ...columns,
    word('kind', 't.kind'),
    anyText('keyword', 't.keyword'),
    wordOrNull('in_reply_to', 't.in_reply_to'),
    tenantId,
    time('received_at', 't.received_at'),
    timeOrNull('redacted_at', 't.redacted_at'),
    created,
  ],
})

/** The content of attachments is not part of the file. It can be read over the API. */
const inboundTypes = [
  inbound('inbound_sms', 'sms', [anyText('body', 't.text'), list('media_url', 't.media_url')]),
  inbound('inbound_email', 'email', [
    anyText('subject', 't.subject'),
    anyText('text', 't.text'),
    anyText('html', 't.html'),
    plain('attachments', 't.attachments'),
  ]),
]

const registration = [
  word('environment', 't.environment'),
  word('status', 't.status'),
  anyText('status_reason', 't.status_reason'),
  anyText('provider_id', 't.provider_id'),
  anyText('provider_status', 't.provider_status'),
]

const brand: ExportedType = {
  type: 'brand',
  table: 'brands',
  columns: [
    id,
    ...registration,
    list('provider_missing_fields', 't.provider_missing_fields'),
    plain('fields', 't.fields'),
    timeOrNull('verified_at', 't.verified_at'),
    ...times,
  ],
}

const campaign: ExportedType = {
  ...brand,
  type: 'campaign',
  table: 'campaigns',
  columns: [...brand.columns, word('brand_id', 't.brand_id'), word('kind', 't.kind')],
}

const phoneNumber: ExportedType = {
  type: 'phone_number',
  table: 'phone_numbers',
  columns: [
    id,
    ...registration,
    word('kind', 't.kind'),
    wordOrNull('type', 't.type'),
    anyText('e164', 't.e164'),
    anyText('sender_id', 't.sender_id'),
    anyText('iso_country', 't.iso_country'),
    wordOrNull('campaign_id', 't.campaign_id'),
    list('capabilities', 't.capabilities'),
    tenantId,
    timeOrNull('verified_at', 't.verified_at'),
    ...times,
  ],
}

const pool: ExportedType = {
  type: 'pool',
  table: 'pools',
  columns: [
    id,
    anyText('slug', 't.slug'),
    anyText('name', 't.name'),
    gathered(
      'phone_number_ids',
      `select p.phone_number_id from pool_members p
       where p.org_id = t.org_id and p.pool_id = t.id order by p.place`,
    ),
    tenantId,
    madeIn,
    ...times,
  ],
}

const ipPool: ExportedType = {
  type: 'ip_pool',
  table: 'ip_pools',
  columns: [
    id,
    anyText('name', 't.name'),
    anyText('region', 't.region'),
    plain('paused', 't.paused'),
    plain('ip_count', 't.ip_count'),
    plain('ips', 't.ips'),
    ...times,
  ],
}

/** With the entity and the header that it is registered under, which have no lines of their own. */
const dltTemplate: ExportedType = {
  type: 'dlt_template',
  table: 'dlt_templates',
  joins: `join dlt_entities e on e.org_id = t.org_id and e.id = t.entity
     join dlt_headers h on h.org_id = t.org_id and h.id = t.header`,
  columns: [
    id,
    word('environment', 't.environment'),
    anyText('name', 't.name'),
    anyText('category', 't.category'),
    anyText('content', 't.content'),
    word('status', 't.status'),
    anyText('provider_template_id', 't.provider_template_id'),
    anyText('rejection_reason', 't.rejection_reason'),
    word('entity', 't.entity'),
    anyText('entity_id', 'e.entity_id'),
    anyText('entity_legal_name', 'e.legal_name'),
    word('entity_status', 'e.status'),
    word('header', 't.header'),
    anyText('header_name', 'h.header'),
    word('header_status', 'h.status'),
    ...times,
  ],
}

const tenant: ExportedType = {
  type: 'tenant',
  table: 'tenants',
  columns: [
    id,
    anyText('slug', 't.slug'),
    anyText('name', 't.name'),
    anyText('external_ref', 't.external_ref'),
    word('status', 't.status'),
    plain('email_monthly', 't.email_monthly'),
    plain('sms_monthly', 't.sms_monthly'),
    plain('erasure', 't.erasure'),
    madeIn,
    ...times,
    timeOrNull('suspended_at', 't.suspended_at'),
    timeOrNull('archived_at', 't.archived_at'),
    timeOrNull('erased_at', 't.erased_at'),
  ],
}

/** Audit entries come last and have their own rules: see store/audit-lines.ts. */
export const exportedTypes: readonly ExportedType[] = [
  org,
  member,
  invitation,
  apiKey,
  domain,
  webhookEndpoint,
  template,
  audience,
  contact,
  suppression,
  message,
  ...inboundTypes,
  brand,
  campaign,
  phoneNumber,
  pool,
  ipPool,
  dltTemplate,
  tenant,
]

/** The rows of a type as lines, one text column each. */
export const typeLines = ({ type, table, columns, joins = '', where, orgColumn = 'org_id' }: ExportedType) =>
  statement<{ orgId: string }, { line: string }>(
    `exports.lines_of_${type}`,
    `select ${lineOf(type, columns)} as line
     from ${table} t ${joins}
     where t.${orgColumn} = :orgId${where === undefined ? '' : ` and ${where}`}`,
  )
