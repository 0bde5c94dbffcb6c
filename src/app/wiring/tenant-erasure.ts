/** What the erasure of a tenant deletes or redacts, one step for each kind of row. */
import { eraseTenantAudiences } from '../audiences/store/audience-rows.ts'
import { eraseTenantContacts } from '../audiences/store/contact-rows.ts'
import { eraseTenantSenderNames } from '../blasts/store/job-rows.ts'
import { eraseTenantSubjects } from '../blasts/store/winner-rows.ts'
import type { Statement } from '../db/statement.ts'
import { eraseTenantOutbox } from '../events/store.ts'
import { eraseTenantClaims } from '../idempotency/store.ts'
import { eraseTenantSmsParts } from '../inbound/store/sms-parts.ts'
import { eraseTenantInbound } from '../inbound/store.ts'
import { eraseTenantOutboxMails } from '../providers/outbox/store.ts'
import { eraseTenantReceipts } from '../providers/sms/smpp/store.ts'
import {
  eraseTenantPoolRecipients,
  eraseTenantPools,
  eraseTenantRecipients,
  freeTenantSenders,
} from '../senders/store/pool-rows.ts'
import { eraseTenantSuppressions } from '../suppressions/store.ts'
import { eraseTenantTemplates } from '../templates/store.ts'
import type { ErasureStep } from '../tenants/erase.ts'
import { eraseTenantDeliveries } from '../webhooks/store/delivery-rows.ts'
import { eraseTenantEndpoints } from '../webhooks/store/endpoint-rows.ts'
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
