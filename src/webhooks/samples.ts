/** A sample of each event, for test fires and for the list of events. Ids end in `_test`. */
import { eventNames } from '../journal/events/names.ts'
import type { Environment } from '../platform/ground/scope.ts'

/** The last one is sent only by a test fire. */
export const knownEvents = [...eventNames, 'webhook.test'] as const
export type KnownEvent = (typeof knownEvents)[number]

const at = '2026-01-15T12:00:00.000Z'
const later = '2026-01-29T00:00:00.000Z'
const message = { message_id: 'msg_test', channel: 'email' }
const domain = { id: 'dom_test', domain: 'mail.example.com' }
const place = { region: 'us-east-1', project_id: 'prj_test' }
const brand = { display_name: 'Example Ltd' }
const campaign = { brand_id: 'brd_test', name: 'Alerts', kind: '10dlc', use_case: 'ACCOUNT_NOTIFICATION' }
const number = {
  kind: '10dlc',
  e164: '+12025550123',
  sender_id: null,
  iso_country: 'US',
  campaign_id: 'cmp_test',
}
const job = { id: 'job_test', audience_id: 'aud_test', channel: 'email', total: 3 }
const dlt = { name: 'Login code', entity_id: '1101234567890123456' }
const approved = { provider_status: 'VERIFIED', reason: null }
const rejected = { provider_status: 'REJECTED', reason: 'The website could not be reached.' }
const gone = { provider_status: 'DELETED', reason: null }

const sampleData: Record<KnownEvent, Record<string, unknown>> = {
  'message.sent': { ...message, status: 'sent' },
  'message.delivered': { ...message, status: 'delivered' },
  'message.bounced': { ...message, status: 'bounced', reason: 'The mailbox does not exist.' },
  'message.failed': { ...message, status: 'failed', error: 'The provider rejected the message.' },
  'message.complained': { ...message, status: 'bounced' },
  'message.opened': message,
  'message.clicked': { ...message, url: 'https://example.com/offer' },
  'message.unsubscribed': {
    channel: 'email',
    recipient: 'ann@example.com',
    message_id: 'msg_test',
    source: 'one_click',
  },
  'suppression.created': {
    id: 'sup_test',
    channel: 'sms',
    value: '+12025550199',
    reason: 'stop',
    source: 'sms_reply',
    inbound_sms_id: 'ism_test',
    created_at: at,
  },
  'domain.verified': { ...domain, status: 'verified', dkim_status: 'SUCCESS', ...place, verified_at: at },
  'domain.unverified': {
    ...domain,
    status: 'unverified',
    dkim_status: 'FAILED',
    ...place,
    unverified_at: at,
  },
  'domain.removed': { ...domain, status: 'removed', project_id: 'prj_test', removed_at: at },
  'domain.warmup_started': {
    ...domain,
    status: 'warming',
    days: 14,
    daily_cap: 50,
    started_at: at,
    ends_at: later,
  },
  'brand.verified': { id: 'brd_test', status: 'verified', ...brand, ...approved },
  'brand.unverified': { id: 'brd_test', status: 'unverified', ...brand, ...rejected },
  'brand.removed': { id: 'brd_test', status: 'removed', ...brand, ...gone },
  'campaign.verified': { id: 'cmp_test', status: 'verified', ...campaign, ...approved },
  'campaign.unverified': { id: 'cmp_test', status: 'unverified', ...campaign, ...rejected },
  'campaign.removed': { id: 'cmp_test', status: 'removed', ...campaign, ...gone },
  'phone_number.verified': { id: 'num_test', status: 'verified', ...number, ...approved },
  'phone_number.unverified': { id: 'num_test', status: 'unverified', ...number, ...rejected },
  'phone_number.released': { id: 'num_test', status: 'released', ...number, ...gone },
  'inbound.email': {
    id: 'iem_test',
    status: 'received',
    from: 'ann@example.com',
    to: ['help@mail.example.com'],
    cc: [],
    subject: 'A question',
    text: 'Hello?',
    html: null,
    message_id: '<1@example.com>',
    in_reply_to: null,
    attachments: [
      { filename: 'photo.png', content_type: 'image/png', size: 2048, url: '/api/v1/inbound/iem_test/attachments/0' },
    ],
    spam_verdict: 'pass',
    received_at: at,
  },
  'inbound.sms': {
    id: 'ism_test',
    status: 'received',
    from: '+12025550199',
    to: '+12025550123',
    body: 'Hello?',
    media_url: [],
    pool: null,
    in_reply_to_message_id: 'msg_test',
    received_at: at,
  },
  'job.started': { ...job, status: 'sending', started_at: at },
  'job.completed': {
    ...job,
    status: 'completed',
    sent: 2,
    delivered: 1,
    failed: 0,
    canceled: 0,
    suppressed: 1,
    completed_at: at,
  },
  'job.canceled': { ...job, status: 'canceled', sent: 1, canceled: 2, canceled_at: at },
  'dlt.template_approved': { id: 'dlt_test', status: 'approved', ...dlt, provider_template_id: '1007000000000000001' },
  'dlt.template_rejected': {
    id: 'dlt_test',
    status: 'rejected',
    ...dlt,
    reason: 'The text does not match the header.',
  },
  'usage.alert': {
    channel: 'email',
    period: '2026-01',
    threshold: 80,
    kind: 'plan_allowance',
    used: 80000,
    limit: 100000,
  },
  'tenant.erased': {
    tenant_id: 'ten_test',
    external_ref: 'customer-7',
    messages_redacted: 12,
    message_events_deleted: 30,
    contacts_deleted: 4,
    inbound_deleted: 0,
  },
  'webhook.disabled': {
    id: 'whe_test',
    status: 'disabled',
    url: 'https://example.com/hooks',
    reason: 'auto',
    consecutive_failures: 10,
    disabled_at: at,
  },
  'webhook.test': { id: 'whe_test', status: 'test', message: 'This is a test of your webhook endpoint.' },
}

/** Events caused by a send, a reply or a job have an environment. The others have none. */
const hasEnvironment = (event: KnownEvent): boolean => /^(message|suppression|inbound|job)\./.test(event)

export type Sample = {
  event: KnownEvent
  environment: Environment | null
  data: Record<string, unknown>
}

export const sampleOf = (event: KnownEvent): Sample => ({
  event,
  environment: hasEnvironment(event) ? 'test' : null,
  data: sampleData[event],
})

/** The body of a sample, with its fields in the order in which fan-out writes them. */
export const eventEnvelopeOf = (
  { event, environment, data }: Sample,
  { tenantId, timestamp, deliveryId }: { tenantId: string | null; timestamp: string; deliveryId: string },
) => ({
  event,
  data,
  timestamp,
  ...(environment !== null && { environment }),
  tenant_id: tenantId,
  delivery_id: deliveryId,
})
