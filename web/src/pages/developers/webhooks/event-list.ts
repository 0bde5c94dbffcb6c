/** The events that an endpoint can receive. The type makes the compiler name one that is missing. */
import type { components } from '../../../api/schema.gen.ts'

type Subscribable = NonNullable<components['schemas']['PatchWebhook']['events']>[number]
export type EventName = Exclude<Subscribable, '*'>

const meanings: Record<EventName, string> = {
  'message.sent': 'The provider accepted a message.',
  'message.delivered': 'The recipient got a message.',
  'message.bounced': 'A message was returned.',
  'message.failed': 'A message could not be sent.',
  'message.complained': 'A recipient marked a message as spam.',
  'message.opened': 'A recipient opened an email.',
  'message.clicked': 'A recipient clicked a link.',
  'message.unsubscribed': 'A recipient unsubscribed.',
  'suppression.created': 'An address or number was suppressed.',
  'domain.verified': 'A domain was verified.',
  'domain.unverified': 'A domain lost its verification.',
  'domain.removed': 'A domain was removed.',
  'domain.warmup_started': 'The warmup of a domain started.',
  'brand.verified': 'A brand was verified.',
  'brand.unverified': 'A brand was rejected.',
  'brand.removed': 'A brand was removed.',
  'campaign.verified': 'A campaign was verified.',
  'campaign.unverified': 'A campaign was rejected.',
  'campaign.removed': 'A campaign was removed.',
  'phone_number.verified': 'A number can be used.',
  'phone_number.unverified': 'A number was rejected.',
  'phone_number.released': 'A number was released.',
  'inbound.email': 'An email arrived.',
  'inbound.sms': 'A text message arrived.',
  'job.started': 'A job started.',
  'job.completed': 'A job ended.',
  'job.canceled': 'A job was canceled.',
  'dlt.template_approved': 'A DLT template was approved.',
  'dlt.template_rejected': 'A DLT template was rejected.',
  'usage.alert': 'Usage reached a threshold.',
  'tenant.erased': 'The data of a tenant was erased.',
  'webhook.disabled': 'An endpoint was disabled after failures.',
  'webhook.test': 'A test that you send yourself.',
}

export const eventNames = Object.keys(meanings) as EventName[]
export const meaningOf = (name: EventName): string => meanings[name]
