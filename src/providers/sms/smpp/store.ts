import { columns, type Given, number, type RowOf, text } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'

const receiptColumns = columns({
  provider_message_id: text,
  org_id: text,
  message_id: text,
  part: number,
  parts: number,
  recipient_end: text,
})
export type ReceiptRow = RowOf<typeof receiptColumns>
export type SubmittedPart = Given<ReceiptRow, keyof ReceiptRow>

/** A message centre that starts to count again uses an id twice. The newest message has it. */
export const insertReceipts = statement<{
  provider: string
  ids: string[]
  orgIds: string[]
  messageIds: string[]
  part: number[]
  parts: number[]
  recipientEnds: string[]
  at: Date
}>(
  'sms_receipts.insert',
  `insert into sms_receipts (provider, ${receiptColumns}, at)
   select :provider, ${receiptColumns.of('r')}, :at
   from unnest(:ids::text[], :orgIds::text[], :messageIds::text[], :part::int[], :parts::int[], :recipientEnds::text[])
     as r (${receiptColumns})
   on conflict (provider, provider_message_id) do update set
     org_id = excluded.org_id,
     message_id = excluded.message_id,
     part = excluded.part,
     parts = excluded.parts,
     recipient_end = excluded.recipient_end,
     delivered_at = null,
     at = excluded.at`,
)

/** The org is not known yet: a receipt names only the provider's id. */
export const findReceipts = statement<{ provider: string; ids: string[] }, ReceiptRow>(
  'sms_receipts.find',
  `select ${receiptColumns}
   from sms_receipts
   where provider = :provider and provider_message_id = any(:ids)`,
)

/** Locks all parts of a message, in one order, so that the receipts of two parts are counted one after the other. */
export const lockParts = statement<
  { orgId: string; messageId: string },
  { provider_message_id: string; part: number; delivered: boolean }
>(
  'sms_receipts.lock_parts',
  `select provider_message_id, part, delivered_at is not null as delivered
   from sms_receipts
   where org_id = :orgId and message_id = :messageId
   order by provider, provider_message_id
   for update`,
)

export const markDelivered = statement<{ orgId: string; messageId: string; id: string; at: Date }>(
  'sms_receipts.mark_delivered',
  `update sms_receipts set delivered_at = :at
   where org_id = :orgId and message_id = :messageId and provider_message_id = :id and delivered_at is null`,
)

export const sweepReceipts = statement<{ before: Date; limit: number }>(
  'sms_receipts.sweep',
  `delete from sms_receipts where (provider, provider_message_id) in (
     select provider, provider_message_id from sms_receipts where at < :before limit :limit)`,
)

/** A receipt has the end of the recipient's number. */
export const eraseTenantReceipts = statement<{ orgId: string; tenantId: string; limit: number }>(
  'sms_receipts.erase_tenant',
  `delete from sms_receipts where org_id = :orgId and (provider, provider_message_id) in (
     select r.provider, r.provider_message_id
     from sms_receipts r join messages m on m.org_id = r.org_id and m.id = r.message_id
     where r.org_id = :orgId and m.tenant_id = :tenantId
     limit :limit)`,
)
