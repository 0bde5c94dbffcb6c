import { columns, type Given, json, oneOf, type RowOf, text, texts, time } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { Channel } from '../../../platform/ground/channel.ts'
import type { Keyset } from '../../../platform/ground/cursor.ts'
import { beforePosition, sinceCreatedAfter, whenSet } from '../../messages/store/list-messages.ts'
import type { InboundKind } from '../keywords.ts'

/** What an API key and an event show of each attachment. */
export type ReceivedFile = { filename: string | null; content_type: string; size: number }

/** What a message stores of each of its attachments. */
export type StoredFile = ReceivedFile & {
  /** Without brackets. Missing if the attachment has none, or was stored by an earlier release. */
  content_id?: string
}

const inboundColumns = columns({
  id: text,
  channel: oneOf<Channel>(),
  tenant_id: text.orNull,
  from_address: text,
  to_addresses: texts,
  subject: text.orNull,
  text: text.orNull,
  html: text.orNull,
  media_url: texts.orNull,
  attachments: json<StoredFile[] | null>(),
  kind: oneOf<InboundKind>(),
  keyword: text.orNull,
  in_reply_to: text.orNull,
  received_at: time,
  created_at: time,
  redacted_at: time.orNull,
})

export type InboundRow = RowOf<typeof inboundColumns>

export type ReceivingNumber = {
  org_id: string
  id: string
  tenant_id: string | null
  e164: string
  iso_country: string
}

/** The org is not known yet. A few orgs can have the same number, one after the other; the oldest is first. */
export const findReceivingNumbers = statement<{ numbers: string[] }, ReceivingNumber>(
  'inbound.find_receiving_numbers',
  `select org_id, id, tenant_id, e164, iso_country
   from phone_numbers
   where e164 = any(:numbers::text[]) and kind = 'number' and environment = 'live'
   order by created_at, id
   limit 10`,
)

/** The slug of the pool that the number belongs to. The pool that the answered message was sent from is preferred. */
export const findPoolOfNumber = statement<
  { orgId: string; numberId: string; preferred: string | null },
  { slug: string }
>(
  'inbound.find_pool_of_number',
  `select o.slug
   from pool_members m
   join pools o on o.org_id = m.org_id and o.id = m.pool_id
   where m.org_id = :orgId and m.phone_number_id = :numberId
   order by (o.slug = :preferred) desc nulls last, o.created_at, o.id
   limit 1`,
)

export type InboundDomain = { org_id: string; tenant_id: string | null }

/** The org is not known yet. Several orgs can have verified the same name; the oldest row is first. */
export const findInboundDomains = statement<{ names: string[] }, InboundDomain>(
  'inbound.find_inbound_domains',
  `select org_id, tenant_id
   from domains
   where name = any(:names::text[]) and inbound and status = 'verified'
   order by created_at, id
   limit 100`,
)

/** A tenant that is being erased gets no new rows. The lock keeps an erasure from beginning its work. */
export const lockInboundTenant = statement<{ orgId: string; tenantId: string }, { id: string }>(
  'inbound.lock_tenant',
  `select id from tenants
   where org_id = :orgId and id = :tenantId and status <> 'erased' and erasure is null
   for key share`,
)

/**
 * Stores a message, unless the provider's id of it was recorded before. Then it returns no row. The record of the id
 * outlives the message, so a repetition does not restore a message that was erased.
 */
export const insertInbound = statement<
  Given<InboundRow, Exclude<keyof InboundRow, 'attachments' | 'redacted_at'>> & {
    orgId: string
    attachments: string | null
    provider: string
    providerId: string | null
  },
  { id: string }
>(
  'inbound.insert',
  `with recorded as (
     insert into provider_notifications (provider, id, at)
     select :provider, :providerId, :createdAt where :providerId::text is not null
     on conflict do nothing
     returning id
   )
   insert into inbound_messages (org_id, id, channel, tenant_id, from_address, to_addresses, subject, text, html,
     media_url, attachments, kind, keyword, in_reply_to, received_at, created_at)
   select :orgId, :id, :channel, :tenantId, :fromAddress, :toAddresses::text[], :subject, :text, :html,
     :mediaUrl::text[], :attachments::jsonb, :kind, :keyword, :inReplyTo, :receivedAt, :createdAt
   where :providerId::text is null or exists (select 1 from recorded)
   returning id`,
)

/** Only in the transaction that stores the message. */
export const insertAttachment = statement<{ orgId: string; inboundId: string; position: number; content: Buffer }>(
  'inbound.insert_attachment',
  `insert into inbound_attachments (org_id, inbound_id, position, content)
   values (:orgId, :inboundId, :position, :content::bytea)`,
)

/** A null tenant searches the whole org. */
export const findInbound = statement<{ orgId: string; tenantId: string | null; id: string }, InboundRow>(
  'inbound.find',
  `select ${inboundColumns} from inbound_messages
   where org_id = :orgId and (:tenantId::text is null or tenant_id = :tenantId) and id = :id`,
)

export type AttachmentRow = { filename: string | null; content_type: string; content: Buffer }

/** A null tenant searches the whole org. */
export const findAttachment = statement<
  { orgId: string; tenantId: string | null; id: string; position: number },
  AttachmentRow
>(
  'inbound.find_attachment',
  `select m.attachments -> a.position ->> 'filename' as filename,
     coalesce(m.attachments -> a.position ->> 'content_type', '') as content_type, a.content
   from inbound_messages m
   join inbound_attachments a on a.org_id = m.org_id and a.inbound_id = m.id
   where m.org_id = :orgId and (:tenantId::text is null or m.tenant_id = :tenantId) and m.id = :id
     and m.redacted_at is null and a.position = :position::int`,
)

/** Longer texts are cut in lists and events. A page with whole texts could be a gigabyte. */
export const listedCharacters = 65_536

const listedColumns = inboundColumns.names
  .map((name) => (name === 'text' || name === 'html' ? `left(${name}, ${listedCharacters}) as ${name}` : name))
  .join(', ')

type ListParams = ListSmsParams & { channel: string | null }

type ListSmsParams = Keyset & {
  orgId: string
  tenantId: string | null
  from: string | null
  to: string | null
  kind: string | null
  createdAfter: Date | null
  createdBefore: Date | null
}

const optional = {
  tenant: whenSet(':tenantId', 'tenant_id = :tenantId'),
  channel: whenSet(':channel', 'channel = :channel'),
  from: whenSet(':from', 'from_address = :from'),
  to: whenSet(':to', ':to = any(to_addresses)'),
  kind: whenSet(':kind', 'kind = :kind'),
}

/** The filter that an index serves is in `required`: it is not optional. */
const listText = (required: Partial<typeof optional>): string =>
  `select ${listedColumns} from inbound_messages
   where org_id = :orgId
     and ${Object.values({ ...optional, ...required }).join('\n     and ')}
     and ${sinceCreatedAfter}
     and ${beforePosition}
   order by created_at desc, id desc
   limit :limit`

/** One statement per index. */
export const listInbound = {
  all: statement<ListParams, InboundRow>('inbound.list', listText({})),
  ofTenant: statement<ListParams, InboundRow>('inbound.list_tenant', listText({ tenant: 'tenant_id = :tenantId' })),
  fromSender: statement<ListParams, InboundRow>('inbound.list_from', listText({ from: 'from_address = :from' })),
  /** Text messages only. */
  toNumber: statement<ListSmsParams, InboundRow>(
    'inbound.list_to',
    listText({ channel: "channel = 'sms'", to: 'to_addresses[1] = :to' }),
  ),
}

/** Part of the SQL text: with a parameter as the limit, the planner would prepare for a tenth of the table. */
export const inboundRedactedAtOnce = 500

export const redactInbound = statement<{ before: Date; at: Date }>(
  'inbound.redact',
  `with old as (
     select org_id, id
     from inbound_messages
     where created_at < :before and redacted_at is null
     order by created_at
     limit ${inboundRedactedAtOnce}
   ), files as (
     delete from inbound_attachments a using old where a.org_id = old.org_id and a.inbound_id = old.id
   )
   update inbound_messages m set text = null, html = null, media_url = null, redacted_at = :at
   from old
   where m.org_id = old.org_id and m.id = old.id and m.redacted_at is null`,
)

/** Their attachments are deleted with them. */
export const eraseTenantInbound = statement<{ orgId: string; tenantId: string; limit: number }>(
  'inbound.erase_tenant',
  `delete from inbound_messages where (org_id, id) in (
     select org_id, id from inbound_messages where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)
