/** What the erasure of a tenant deletes or redacts, one step for each kind of row. */
import type { ErasureStep } from '../../customers/tenants/erase.ts'
import { eraseTenantOutbox } from '../../journal/events/store.ts'
import type { Statement } from '../../platform/db/statement.ts'
import { eraseTenantClaims } from '../../platform/idempotency/store.ts'
import { eraseTenantOutboxMails } from '../../providers/outbox/store.ts'
import { eraseTenantReceipts } from '../../providers/sms/smpp/store.ts'
import { eraseTenantAudiences } from '../../recipients/audiences/store/audience-rows.ts'
import { eraseTenantContacts } from '../../recipients/audiences/store/contact-rows.ts'
import { eraseTenantSuppressions } from '../../recipients/suppressions/store.ts'
import {
  eraseTenantPoolRecipients,
  eraseTenantPools,
  eraseTenantRecipients,
  freeTenantSenders,
} from '../../senders/sms/store/pool-rows.ts'
import { eraseTenantSenderNames } from '../../sending/blasts/store/job-rows.ts'
import { eraseTenantSubjects } from '../../sending/blasts/store/winner-rows.ts'
import { eraseTenantInbound } from '../../sending/inbound/store/inbound-rows.ts'
import { eraseTenantSmsParts } from '../../sending/inbound/store/sms-part-rows.ts'
import { eraseTenantTemplates } from '../../sending/templates/store.ts'
import { eraseTenantDeliveries } from '../../webhooks/store/delivery-rows.ts'
import { eraseTenantEndpoints } from '../../webhooks/store/endpoint-rows.ts'
import type { Sending } from './sending.ts'

const uncounted = (statement: Statement<{ orgId: string; tenantId: string; limit: number }, never>): ErasureStep => ({
  run: (tx, rows) => tx.change(statement, rows),
})

/** A module with rows of a tenant adds itself here. A test compares the list with the schema. */
export const tenantErasureSteps = ({
  messages,
  verifications,
}: Pick<Sending, 'messages' | 'verifications'>): ErasureStep[] => [
  { counts: 'messages_redacted', run: messages.forTenant.eraseMessages },
  { counts: 'message_events_deleted', run: messages.forTenant.eraseEvents },
  { counts: 'inbound_deleted', run: (tx, rows) => tx.change(eraseTenantInbound, rows) },
  uncounted(eraseTenantSmsParts),
  uncounted(eraseTenantReceipts),
  uncounted(eraseTenantOutboxMails),
  { run: verifications.eraseForTenant },
  uncounted(eraseTenantSubjects),
  uncounted(eraseTenantSenderNames),
  uncounted(eraseTenantAudiences),
  { counts: 'contacts_deleted', run: (tx, rows) => tx.change(eraseTenantContacts, rows) },
  uncounted(eraseTenantPoolRecipients),
  uncounted(eraseTenantRecipients),
  uncounted(eraseTenantPools),
  uncounted(freeTenantSenders),
  uncounted(eraseTenantSuppressions),
  uncounted(eraseTenantTemplates),
  uncounted(eraseTenantEndpoints),
  // Before the deliveries, because an event that leaves the outbox becomes deliveries.
  uncounted(eraseTenantOutbox),
  uncounted(eraseTenantDeliveries),
  uncounted(eraseTenantClaims),
]
