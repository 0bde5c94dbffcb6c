/** Builds drafts from the bodies of single, batch and bulk requests. */
import type { Clock } from '../../ground/clock.ts'
import { timeOfId } from '../../ground/ids.ts'
import { comparable } from '../../ground/mailbox.ts'
import { andThen, type MaybePromise } from '../../ground/maybe-promise.ts'
import { claimedId, type IdempotencyClaim, type RequestPlace } from '../../idempotency/claims.ts'
import type { Address, Attachment } from '../../providers/email/email-provider.ts'
import type { SentBy } from '../draft.ts'
import { type DraftCaller, makeSentBy } from '../sent-by.ts'
import { assertAttachable } from './attachments.ts'
import { destinations, type EmailDraft } from './email-draft.ts'
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

/** Each address once. A duplicate would be counted twice and receive two messages. */
const distinct = (lists: [to: Address[], cc: Address[], bcc: Address[]]): Address[][] => {
  if (lists[0].length === 1 && lists[1].length === 0 && lists[2].length === 0) return lists
  const seen = new Set<string>()
  return lists.map((list) =>
    list.filter(({ address }) => {
      const key = comparable(address)
      if (seen.has(key)) return false
      seen.add(key)
      return true
    }),
  )
}

export type EmailFields = Omit<
  BatchItem,
  'to' | 'cc' | 'bcc' | 'attachments' | 'variables' | 'template' | 'scheduled_at'
>
type Envelope = { to: Address[]; cc: Address[]; bcc: Address[]; attachments: Attachment[] }

type Needs = { clock: Clock; defaultProject: (orgId: string) => MaybePromise<string> }

/** A new message without the fields that only single and scheduled messages have. */
export const newEmailDraft = (
  id: string,
  by: SentBy,
  body: EmailFields,
  { to: allTo, cc: allCc, bcc: allBcc, attachments }: Envelope,
): EmailDraft => {
  const [to = [], cc = [], bcc = []] = distinct([allTo, allCc, allBcc])
  return {
    id,
    createdAt: new Date(timeOfId(id)),
    by,
    channel: 'email',
    jobId: null,
    from: body.from,
    to,
    cc,
    bcc,
    replyTo: body.reply_to,
    requested: destinations({ to, cc, bcc }).map(({ address }) => address),
    subject: body.subject ?? null,
    html: body.html ?? null,
    text: body.text ?? null,
    template: null,
    stream: body.stream,
    headers: body.headers,
    attachments,
    trackOpens: body.track_opens,
    trackClicks: body.track_clicks,
    tags: body.tags,
    metadata: body.metadata,
    scheduledAt: null,
    unsubscribeUrl: null,
    pages: {},
    sender: null,
    mayRepeat: undefined,
  }
}

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
