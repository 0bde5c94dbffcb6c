/** What an export of an org contains: the types in the order of the file, and where their rows come from. */
import { statement } from '../../../platform/db/statement.ts'
import {
  anyTexts,
  gathered,
  instants,
  instantsOrNull,
  type LineColumn,
  lineOf,
  lists,
  plains,
  words,
  wordsOrNull,
} from './line-columns.ts'

type Columns = readonly (readonly LineColumn[])[]

type Source = {
  /** Tables after the first, and conditions besides the org. The table has the alias `t`. */
  joins?: string
  where?: string
  /** The column that holds the org. */
  orgColumn?: string
}

type ExportedType = Source & { type: string; table: string; columns: readonly LineColumn[] }

const exported = (type: string, table: string, columns: Columns, source: Source = {}): ExportedType => ({
  type,
  table,
  columns: columns.flat(),
  ...source,
})

const id = words('id')
const tenantId = wordsOrNull('tenant_id')
const created = instants('created_at')
const times = instants('created_at', 'updated_at')
const madeIn = words('created_environment')
const owned = [tenantId, madeIn, times]

/** The content of attachments is not part of the file. It can be read over the API. */
const inbound = (type: string, channel: string, columns: Columns): ExportedType =>
  exported(
    type,
    'inbound_messages',
    [
      id,
      anyTexts({ from: 't.from_address' }),
      lists({ to: 't.to_addresses' }),
      ...columns,
      words('kind'),
      anyTexts('keyword'),
      wordsOrNull('in_reply_to'),
      tenantId,
      instants('received_at'),
      instantsOrNull('redacted_at'),
      created,
    ],
    { where: `t.channel = '${channel}'` },
  )

const registration = [words('environment', 'status'), anyTexts('status_reason', 'provider_id', 'provider_status')]
const form = [
  id,
  ...registration,
  lists('provider_missing_fields'),
  plains('fields'),
  instantsOrNull('verified_at'),
  times,
]

/** Audit entries come last and have their own rules: see store/audit-lines.ts. */
export const exportedTypes: readonly ExportedType[] = [
  exported(
    'org',
    'orgs',
    [
      id,
      anyTexts('name', 'slug'),
      words('plan'),
      wordsOrNull('owner_user_id'),
      plains('rate_limit_per_minute', 'email_monthly', 'sms_monthly', {
        spend_cap_usd: 'round(t.spend_cap_micros / 1000000.0, 2)',
      }),
      anyTexts('sms_geo'),
      instantsOrNull('sms_geo_updated_at'),
      wordsOrNull('sms_geo_updated_by'),
      plains('sms_quiet_hours', 'sso_enforced'),
      instantsOrNull('sso_enforced_at'),
      plains('max_session_age_hours', 'max_sessions_per_user'),
      instantsOrNull('suspended_at'),
      anyTexts('suspension_reason'),
      times,
    ],
    { orgColumn: 'id' },
  ),
  exported(
    'member',
    'memberships',
    [
      id,
      words('user_id'),
      anyTexts({ email: 'u.email', name: 'u.name' }, 'role', 'source'),
      plains({ two_factor_enabled: 'u.totp_enabled_at is not null' }, 'sso_exempt'),
      instantsOrNull('sso_signed_in_at'),
      created,
    ],
    { joins: 'join users u on u.id = t.user_id' },
  ),
  exported('invitation', 'invitations', [
    id,
    anyTexts('email'),
    words('role'),
    plains('sso_exempt'),
    wordsOrNull('invited_by'),
    created,
    instants('expires_at'),
    instantsOrNull('ended_at'),
  ]),
  exported('api_key', 'api_keys', [
    id,
    anyTexts('name'),
    words('environment'),
    anyTexts('prefix', 'last_four'),
    lists('scopes'),
    tenantId,
    wordsOrNull('project_id'),
    lists('allowed_domain_ids', 'allowed_cidrs'),
    plains('rate_limit_per_minute'),
    wordsOrNull('created_by'),
    words('origin'),
    instantsOrNull('expires_at', 'last_used_at', 'revoked_at'),
    times,
  ]),
  exported('domain', 'domains', [
    id,
    anyTexts('name'),
    words('status', 'dkim_status'),
    anyTexts('dkim_selector', 'dkim_public_key', 'return_path', 'region'),
    words('project_id'),
    tenantId,
    wordsOrNull('ip_pool_id'),
    plains('inbound', 'record_statuses', 'warmup_days'),
    instantsOrNull('warmup_started_at', 'warmup_ends_at', 'verified_at', 'last_checked_at'),
    madeIn,
    times,
  ]),
  exported('webhook_endpoint', 'webhook_endpoints', [
    id,
    anyTexts('url', 'description'),
    lists('events'),
    plains('enabled'),
    wordsOrNull('disabled_reason'),
    instantsOrNull('disabled_at'),
    plains('consecutive_failures'),
    instantsOrNull('secret_rotated_at'),
    ...owned,
  ]),
  exported('template', 'templates', [
    id,
    anyTexts('slug'),
    words('channel'),
    anyTexts('subject', 'html', 'text'),
    plains('version'),
    ...owned,
  ]),
  exported('audience', 'audiences', [id, anyTexts('name', 'slug'), plains('member_count'), ...owned]),
  exported('contact', 'contacts', [
    id,
    anyTexts('email', 'phone', 'name'),
    plains('metadata'),
    gathered({
      audience_ids: `select a.audience_id from audience_members a
       where a.org_id = t.org_id and a.contact_id = t.id order by a.audience_id`,
    }),
    ...owned,
  ]),
  exported('suppression', 'suppressions', [
    id,
    words('channel'),
    anyTexts('value'),
    words('reason', 'source'),
    wordsOrNull('message_id'),
    instantsOrNull('unsubscribed_at'),
    anyTexts('unsubscribe_source'),
    wordsOrNull('unsubscribe_message_id'),
    ...owned,
  ]),
  exported('message', 'messages', [
    id,
    words('channel', 'environment', 'status', 'stream'),
    tenantId,
    words('project_id'),
    wordsOrNull('key_id', 'job_id'),
    anyTexts({ from: 't.from_address' }, 'from_name'),
    lists({ to: 't.to_addresses' }, 'cc', 'bcc', 'reply_to'),
    plains('names'),
    anyTexts('subject', 'html', 'text'),
    plains('headers', 'attachments', 'track_opens', 'track_clicks'),
    lists('tags'),
    plains('metadata', 'sms'),
    anyTexts('error_message', 'provider'),
    plains('provider_response', { status_history: 't.history' }),
    instantsOrNull('scheduled_at', 'sent_at', 'delivered_at', 'canceled_at', 'redacted_at'),
    created,
  ]),
  inbound('inbound_sms', 'sms', [anyTexts({ body: 't.text' }), lists('media_url')]),
  inbound('inbound_email', 'email', [anyTexts('subject', 'text', 'html'), plains('attachments')]),
  exported('brand', 'brands', form),
  exported('campaign', 'campaigns', [...form, words('brand_id', 'kind')]),
  exported('phone_number', 'phone_numbers', [
    id,
    ...registration,
    words('kind'),
    wordsOrNull('type'),
    anyTexts('e164', 'sender_id', 'iso_country'),
    wordsOrNull('campaign_id'),
    lists('capabilities'),
    tenantId,
    instantsOrNull('verified_at'),
    times,
  ]),
  exported('pool', 'pools', [
    id,
    anyTexts('slug', 'name'),
    gathered({
      phone_number_ids: `select p.phone_number_id from pool_members p
       where p.org_id = t.org_id and p.pool_id = t.id order by p.place`,
    }),
    ...owned,
  ]),
  exported('ip_pool', 'ip_pools', [id, anyTexts('name', 'region'), plains('paused', 'ip_count', 'ips'), times]),
  // With the entity and the header that it is registered under, which have no lines of their own.
  exported(
    'dlt_template',
    'dlt_templates',
    [
      id,
      words('environment'),
      anyTexts('name', 'category', 'content'),
      words('status'),
      anyTexts('provider_template_id', 'rejection_reason'),
      words('entity'),
      anyTexts({ entity_id: 'e.entity_id', entity_legal_name: 'e.legal_name' }),
      words({ entity_status: 'e.status' }, 'header'),
      anyTexts({ header_name: 'h.header' }),
      words({ header_status: 'h.status' }),
      times,
    ],
    {
      joins: `join dlt_entities e on e.org_id = t.org_id and e.id = t.entity
     join dlt_headers h on h.org_id = t.org_id and h.id = t.header`,
    },
  ),
  exported('tenant', 'tenants', [
    id,
    anyTexts('slug', 'name', 'external_ref'),
    words('status'),
    plains('email_monthly', 'sms_monthly', 'erasure'),
    madeIn,
    times,
    instantsOrNull('suspended_at', 'archived_at', 'erased_at'),
  ]),
]

/** The rows of a type as lines, one text column each. */
export const typeLines = ({ type, table, columns, joins = '', where, orgColumn = 'org_id' }: ExportedType) =>
  statement<{ orgId: string }, { line: string }>(
    `exports.lines_of_${type}`,
    `select ${lineOf(type, columns)} as line
     from ${table} t ${joins}
     where t.${orgColumn} = :orgId${where === undefined ? '' : ` and ${where}`}`,
  )
