/** Builds drafts from the bodies of single, batch and bulk requests. */
import type { Clock } from '../../../platform/ground/clock.ts'
import { andThen, type MaybePromise } from '../../../platform/ground/maybe-promise.ts'
import { claimedId, type IdempotencyClaim, type RequestPlace } from '../../../platform/idempotency/claims.ts'
import type { Attachment } from '../../../providers/email/email-provider.ts'
import type { SentBy } from '../draft.ts'
import { type DraftCaller, makeSentBy } from '../sent-by.ts'
import { assertAttachable } from './attachments.ts'
import { type EmailDraft, type EmailFields, type Envelope, newEmailDraft } from './email-draft.ts'
import type { BatchItem, BulkEmail, SendEmail } from './shapes.ts'

/** With a claim, the ids of the messages are derived from it. */
export interface DraftEmails {
  single(caller: DraftCaller, body: SendEmail, claim?: IdempotencyClaim): MaybePromise<EmailDraft>
  item(caller: DraftCaller, body: BatchItem, place: RequestPlace): MaybePromise<EmailDraft>
  /** One envelope per recipient. */
  bulk(
    caller: DraftCaller,
    body: BulkEmail,
    attachments: Attachment[],
    claim?: IdempotencyClaim,
  ): MaybePromise<EmailDraft[]>
}

type Needs = { clock: Clock; defaultProject: (orgId: string) => MaybePromise<string> }

export const makeDraftEmails = ({ clock, defaultProject }: Needs): DraftEmails => {
  const sentBy = makeSentBy(defaultProject)

  const draftOf = (by: SentBy, body: EmailFields, envelope: Envelope, { claim, index = 0 }: RequestPlace) => {
    assertAttachable(envelope.attachments)
    const draft = newEmailDraft(claimedId('message', claim, clock, index), by, body, envelope)
    draft.mayRepeat = claim?.interrupted
    return draft
  }

  return {
    single: (caller, body, claim) =>
      andThen(sentBy(caller), (by) => {
        const draft = draftOf(by, body, body, { claim })
        draft.scheduledAt = body.scheduled_at ?? null
        if (body.template !== undefined) draft.template = { slug: body.template, variables: body.variables }
        return draft
      }),
    item: (caller, body, place) => andThen(sentBy(caller), (by) => draftOf(by, body, body, place)),
    bulk: (caller, body, attachments, claim) =>
      andThen(sentBy(caller), (by) => {
        const pages = {}
        return body.to.map((recipient, index) => ({
          ...draftOf(by, body, { to: [recipient], cc: [], bcc: [], attachments }, { claim, index }),
          pages,
        }))
      }),
  }
}
