/** Builds drafts from the bodies of single, batch and bulk requests. */
import type { Clock } from '../../../platform/ground/clock.ts'
import { instantOfLocal } from '../../../platform/ground/local-time.ts'
import { andThen } from '../../../platform/ground/maybe-promise.ts'
import { claimedId, type IdempotencyClaim, type RequestPlace } from '../../../platform/idempotency/claims.ts'
import type { DraftCaller, SentBy, SentByOf } from '../draft.ts'
import type { BulkSms, SendSms, SmsBatchItem } from './shapes.ts'
import { newSmsDraft, type SmsContent, type SmsDraft } from './sms-draft.ts'

/** With a claim, the ids of the messages are derived from it. */
export const makeDraftSms = ({ clock, sentBy }: { clock: Clock; sentBy: SentByOf }) => {
  const draftOf = (by: SentBy, given: SmsContent, to: string, { claim, index = 0 }: RequestPlace): SmsDraft => ({
    ...newSmsDraft(claimedId('message', claim, clock, index), by, given, to),
    mayRepeat: claim?.interrupted,
  })

  const timeOf = ({ scheduled_at, scheduled_local: time, scheduled_at_tz: zone }: SendSms) => {
    if (time === undefined || zone === undefined) return { scheduledAt: scheduled_at ?? null, local: null }
    return { scheduledAt: instantOfLocal(time, zone), local: { time, zone } }
  }

  return {
    single: (caller: DraftCaller, body: SendSms, claim?: IdempotencyClaim) =>
      andThen(sentBy(caller), (by) => ({
        ...draftOf(by, body, body.to, { claim }),
        ...timeOf(body),
        fromPool: body.from_pool ?? null,
        template: body.template === undefined ? null : { slug: body.template, variables: body.variables },
      })),
    item: (caller: DraftCaller, body: SmsBatchItem, place: RequestPlace) =>
      andThen(sentBy(caller), (by) => draftOf(by, body, body.to, place)),
    /** One message per recipient. */
    bulk: (caller: DraftCaller, body: BulkSms, claim?: IdempotencyClaim) =>
      andThen(sentBy(caller), (by) => body.to.map((to, index) => draftOf(by, body, to, { claim, index }))),
  }
}

export type DraftSms = ReturnType<typeof makeDraftSms>
