/** Builds drafts from the bodies of single, batch and bulk requests. */
import type { Clock } from '../../ground/clock.ts'
import { newId, timeOfId } from '../../ground/ids.ts'
import { comparable } from '../../ground/mailbox.ts'
import { andThen, type MaybePromise } from '../../ground/maybe-promise.ts'
import type { Address, Attachment } from '../../providers/email/email-provider.ts'
import type { SentBy } from '../draft.ts'
import { type DraftCaller, makeSentBy } from '../sent-by.ts'
import { assertAttachable } from './attachments.ts'
import { destinations, type EmailDraft } from './email-draft.ts'
import type { BatchItem, BulkEmail, SendEmail } from './shapes.ts'

export interface DraftEmails {
  single(caller: DraftCaller, body: SendEmail): MaybePromise<EmailDraft>
  item(caller: DraftCaller, body: BatchItem): MaybePromise<EmailDraft>
  /** One envelope per recipient. */
  bulk(caller: DraftCaller, body: BulkEmail, attachments: Attachment[]): MaybePromise<EmailDraft[]>
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
  at: number,
  by: SentBy,
  body: EmailFields,
  { to: allTo, cc: allCc, bcc: allBcc, attachments }: Envelope,
): EmailDraft => {
  const id = newId('message', at)
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
  }
}

export const makeDraftEmails = ({ clock, defaultProject }: Needs): DraftEmails => {
  const sentBy = makeSentBy(defaultProject)

  const draftOf = (by: SentBy, body: EmailFields, envelope: Envelope): EmailDraft => {
    assertAttachable(envelope.attachments)
    return newEmailDraft(clock.millis(), by, body, envelope)
  }

  return {
    single: (caller, body) =>
      andThen(sentBy(caller), (by) => {
        const draft = draftOf(by, body, body)
        draft.scheduledAt = body.scheduled_at ?? null
        if (body.template !== undefined) draft.template = { slug: body.template, variables: body.variables }
        return draft
      }),
    item: (caller, body) => andThen(sentBy(caller), (by) => draftOf(by, body, body)),
    bulk: (caller, body, attachments) =>
      andThen(sentBy(caller), (by) => {
        const pages = {}
        return body.to.map((recipient) => ({
          ...draftOf(by, body, { to: [recipient], cc: [], bcc: [], attachments }),
          pages,
        }))
      }),
  }
}
