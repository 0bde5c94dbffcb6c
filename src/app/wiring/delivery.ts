/** Webhook delivery: fan-out of events to endpoints, attempts, and retention. */
import { makeWebhookLoop } from '../../interfaces/worker/webhook-loop.ts'
import { makeSendNotice } from '../../sending/messages/notice.ts'
import { makeAttemptDelivery } from '../../webhooks/attempt.ts'
import { makeDeliverWebhooks } from '../../webhooks/deliver.ts'
import { makeFanOut } from '../../webhooks/fan-out.ts'
import { makeKeepDeliveries } from '../../webhooks/retention.ts'
import type { Foundation } from './foundation.ts'
import type { Replacements } from './replacements.ts'
import type { Sending } from './sending.ts'

export const makeDelivery = (foundation: Foundation, { agent, emailProvider }: Sending, replacements: Replacements) => {
  const { config, db, reads, clock, log, measure } = foundation
  const { serviceDomain } = config
  const attempt = measure.webhookAttempts(makeAttemptDelivery({ agent, clock }))
  const notify = replacements.notify ?? makeSendNotice({ db, clock, provider: emailProvider, serviceDomain })
  return {
    attempt,
    webhooks: makeWebhookLoop({
      fanOut: makeFanOut({ db, clock }),
      deliver: makeDeliverWebhooks({
        ...foundation,
        send: attempt,
        notify,
        measureLag: (lagMs) => measure.claimLag('deliveries', lagMs),
        beforeSend: reads.wrote && ((orgId) => reads.wrote?.([orgId])),
      }),
      log,
    }),
    deliveries: makeKeepDeliveries({ db, clock, log }),
  }
}

export type WebhookDelivery = ReturnType<typeof makeDelivery>
