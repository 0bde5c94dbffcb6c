/** Builds drafts from the bodies of single, batch and bulk requests. */
import type { Clock } from '../../../platform/ground/clock.ts'
import { andThen } from '../../../platform/ground/maybe-promise.ts'
import { claimedId, type IdempotencyClaim, type RequestPlace } from '../../../platform/idempotency/claims.ts'
import type { Attachment } from '../../../providers/email/email-provider.ts'
import type { DraftCaller, SentBy, SentByOf } from '../draft.ts'
import { assertAttachable } from './attachments.ts'
import { type EmailFields, type Envelope, newEmailDraft } from './email-draft.ts'
import type { BatchItem, BulkEmail, SendEmail } from './shapes.ts'

/** With a claim, the ids of the messages are derived from it. */
export const makeDraftEmails = ({ clock, sentBy }: { clock: Clock; sentBy: SentByOf }) => {
  const draftOf = (by: SentBy, body: EmailFields, envelope: Envelope, { claim, index = 0 }: RequestPlace) => {
    assertAttachable(envelope.attachments)
    const draft = newEmailDraft(claimedId('message', claim, clock, index), by, body, envelope)
    draft.mayRepeat = claim?.interrupted
    return draft
  }

  return {
    single: (caller: DraftCaller, body: SendEmail, claim?: IdempotencyClaim) =>
      andThen(sentBy(caller), (by) => {
        const draft = draftOf(by, body, body, { claim })
        draft.scheduledAt = body.scheduled_at ?? null
        if (body.template !== undefined) draft.template = { slug: body.template, variables: body.variables }
        return draft
      }),
    item: (caller: DraftCaller, body: BatchItem, place: RequestPlace) =>
      andThen(sentBy(caller), (by) => draftOf(by, body, body, place)),
    /** One envelope per recipient. */
    bulk: (caller: DraftCaller, body: BulkEmail, attachments: Attachment[], claim?: IdempotencyClaim) =>
      andThen(sentBy(caller), (by) => {
        const pages = {}
        return body.to.map((recipient, index) => ({
          ...draftOf(by, body, { to: [recipient], cc: [], bcc: [], attachments }, { claim, index }),
          pages,
        }))
      }),
  }
}

export type DraftEmails = ReturnType<typeof makeDraftEmails>
