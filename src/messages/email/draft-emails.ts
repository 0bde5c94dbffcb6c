/** Drafts of what callers ask for, whichever way they ask. */

import type { Clock } from '../../ground/clock.ts'
import { newId, timeOfId } from '../../ground/ids.ts'
import { comparable } from '../../ground/mailbox.ts'
import { andThen, type MaybePromise } from '../../ground/maybe-promise.ts'
import type { Scope } from '../../ground/scope.ts'
import type { Address, Attachment } from '../../providers/email/email-provider.ts'
import type { SentBy } from '../draft.ts'
import { assertAttachable } from './attachments.ts'
import { destinations, type EmailDraft } from './email-draft.ts'
import type { BatchItem, BulkEmail, SendEmail } from './shapes.ts'

/** Who asks: a key with its restrictions, or the service itself for a person. */
export type DraftRequest = Scope & { keyId: string | null; allowedDomainIds: readonly string[] | null }

export interface DraftEmails {
  single(asking: DraftRequest, body: SendEmail): MaybePromise<EmailDraft>
  item(asking: DraftRequest, body: BatchItem): MaybePromise<EmailDraft>
  /** One envelope per recipient. */
  bulk(asking: DraftRequest, body: BulkEmail, attachments: Attachment[]): MaybePromise<EmailDraft[]>
}

/** Every address once: written twice it would be two of the quota and two envelopes. */
const distinct = (lists: [to: Address[], cc: Address[], bcc: Address[]]): Address[][] => {
  if (lists[0].length === 1 && lists[1].length === 0 && lists[2].length === 0) return lists
  const seen = new Set<string>()
  return lists.map((list) =>
    list.filter(({ address }) => {
      const name = comparable(address)
      if (seen.has(name)) return false
      seen.add(name)
      return true
    }),
  )
}

type Common = Omit<BatchItem, 'to' | 'cc' | 'bcc' | 'attachments' | 'variables' | 'template' | 'scheduled_at'>
type Envelope = { to: Address[]; cc: Address[]; bcc: Address[]; attachments: Attachment[] }

type Needs = { clock: Clock; defaultProject: (orgId: string) => MaybePromise<string> }

export const makeDraftEmails = ({ clock, defaultProject }: Needs): DraftEmails => {
  const sentBy = (asking: DraftRequest): MaybePromise<SentBy> =>
    andThen(asking.projectId ?? defaultProject(asking.orgId), (projectId) => ({
      orgId: asking.orgId,
      tenantId: asking.tenantId,
      environment: asking.environment,
      projectId,
      keyId: asking.keyId,
      allowedDomainIds: asking.allowedDomainIds,
      boundProjectId: asking.projectId,
    }))

  const draftOf = (by: SentBy, body: Common, envelope: Envelope): EmailDraft => {
    assertAttachable(envelope.attachments)
    const id = newId('message', clock.millis())
    const [to = [], cc = [], bcc = []] = distinct([envelope.to, envelope.cc, envelope.bcc])
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
      asked: destinations({ to, cc, bcc }).map(({ address }) => address),
      subject: body.subject ?? null,
      html: body.html ?? null,
      text: body.text ?? null,
      template: null,
      stream: body.stream,
      headers: body.headers,
      attachments: envelope.attachments,
      trackOpens: body.track_opens,
      trackClicks: body.track_clicks,
      tags: body.tags,
      metadata: body.metadata,
      scheduledAt: null,
      unsubscribeUrl: null,
      sender: null,
    }
  }

  return {
    single: (asking, body) =>
      andThen(sentBy(asking), (by) => {
        const draft = draftOf(by, body, body)
        draft.scheduledAt = body.scheduled_at ?? null
        if (body.template !== undefined) draft.template = { slug: body.template, variables: body.variables }
        return draft
      }),
    item: (asking, body) => andThen(sentBy(asking), (by) => draftOf(by, body, body)),
    bulk: (asking, body, attachments) =>
      andThen(sentBy(asking), (by) =>
        body.to.map((recipient) => draftOf(by, body, { to: [recipient], cc: [], bcc: [], attachments })),
      ),
  }
}
