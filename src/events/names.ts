/** Every event there is; each is delivered only under its own name. */
export const eventNames = [
  ...['message.sent', 'message.delivered', 'message.bounced', 'message.failed', 'message.complained'],
  ...['message.opened', 'message.clicked', 'message.unsubscribed', 'suppression.created'],
  ...['domain.verified', 'domain.unverified', 'domain.removed', 'domain.warmup_started'],
  ...['brand.verified', 'brand.unverified', 'brand.removed'],
  ...['campaign.verified', 'campaign.unverified', 'campaign.removed'],
  ...['phone_number.verified', 'phone_number.unverified', 'phone_number.released'],
  ...['inbound.email', 'inbound.sms', 'job.started', 'job.completed', 'job.canceled'],
  ...['dlt.template_approved', 'dlt.template_rejected', 'usage.alert', 'tenant.erased', 'webhook.disabled'],
] as const

export type EventName = (typeof eventNames)[number]
