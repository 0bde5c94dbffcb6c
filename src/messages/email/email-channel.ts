import { warmupCap } from '../../domains/sender.ts'
import { type Clock, systemClock } from '../../ground/clock.ts'
import { andThen } from '../../ground/maybe-promise.ts'
import { nonEmpty } from '../../ground/non-empty.ts'
import type { Address, EmailProvider, Mail } from '../../providers/email/email-provider.ts'
import type { Handover } from '../../providers/handover.ts'
import type { Links } from '../../tracking/links.ts'
import { emailPrice } from '../../usage/plan-limits.ts'
import type { Usage } from '../../usage/reserve.ts'
import type { ChannelAdapter } from '../channel-adapter.ts'
import { bySendKind } from '../draft.ts'
import type { MessageRow } from '../store/message-row.ts'
import { destinations, type EmailDraft, mailOf, type ReturnPathOf } from './email-draft.ts'
import { makeFillLinks } from './fill-links.ts'
import { type EmailGateNeeds, emailGates, lateEmailGates } from './gates/email-gates.ts'
import { recipientsOfEmail, removeSuppressed } from './gates/suppression.ts'

const addressesOf = (list: Address[]): string[] => list.map(({ address }) => address)

/** Stores Reply-To display names separately from recipient names. */
const replyKey = (address: string): string => `reply-to ${address}`

const hasName = ({ name }: Address): boolean => name !== null

const namesOf = (draft: EmailDraft): Record<string, string> | undefined => {
  const { replyTo } = draft
  const recipients = destinations(draft)
  if (!recipients.some(hasName) && !replyTo.some(hasName)) return undefined
  return Object.fromEntries([
    ...recipients.filter(hasName).map(({ address, name }) => [address, name as string]),
    ...replyTo.filter(hasName).map(({ address, name }) => [replyKey(address), name as string]),
  ])
}

type Needs = EmailGateNeeds & {
  clock: Clock
  usage: Usage
  links: Links
  provider: EmailProvider
  simulate: (mail: Mail) => Handover
  returnPathOf: ReturnPathOf
}

export const makeEmailChannel = (needs: Needs): ChannelAdapter<EmailDraft> => {
  const { clock, usage, links, provider, simulate, returnPathOf } = needs
  return {
    name: 'email',
    gates: bySendKind(emailGates(needs)),
    recipientsOf: recipientsOfEmail,
    removeSuppressed,
    lateGates: bySendKind(lateEmailGates(needs)),

    finish: makeFillLinks(links),

    priceOf: (draft) =>
      andThen(usage.allowanceOf(draft.by.orgId, draft.by.tenantId), ({ plan }) => {
        const units = destinations(draft).length
        const { sender } = draft
        const costMicros = emailPrice[plan] * units
        if (sender?.kind === 'sandbox') return { units, costMicros, sandbox: units }
        const cap = sender ? warmupCap(sender.warmup, clock.now()) : null
        if (sender === null || cap === null) return { units, costMicros }
        return { units, costMicros, warmup: { domainId: sender.domainId, recipients: units, cap } }
      }),

    contentOf: (draft) => ({
      stream: draft.stream,
      from_address: draft.from.address,
      from_name: draft.from.name ?? undefined,
      to_addresses: addressesOf(draft.to),
      cc: nonEmpty(addressesOf(draft.cc)),
      bcc: nonEmpty(addressesOf(draft.bcc)),
      reply_to: nonEmpty(addressesOf(draft.replyTo)),
      names: namesOf(draft),
      subject: draft.subject ?? undefined,
      html: draft.html ?? undefined,
      text: draft.text ?? undefined,
      headers: Object.keys(draft.headers).length === 0 ? undefined : draft.headers,
      // Names and types only: the content of attachments is not stored.
      attachments: nonEmpty(
        draft.attachments.map(({ filename, contentType }) => ({ filename, content_type: contentType })),
      ),
      track_opens: draft.trackOpens || undefined,
      track_clicks: draft.trackClicks || undefined,
    }),

    canBeSentLater: (draft) => draft.attachments.length === 0,

    handOver: (draft) => {
      if (draft.by.environment === 'test') return simulate(mailOf(draft, clock.now(), returnPathOf))
      // Mail servers and readers compare the Date header with their own clock.
      return provider.send(mailOf(draft, systemClock.now(), returnPathOf))
    },

    draftOf: (row: MessageRow): EmailDraft => {
      const { names } = row
      const withNames = (list: string[]): Address[] =>
        list.map((address) => ({ address, name: names?.[address] ?? null }))
      const withReplyName = (address: string): Address => ({
        address,
        name: names?.[replyKey(address)] ?? names?.[address] ?? null,
      })
      return {
        channel: 'email',
        id: row.id,
        createdAt: row.created_at,
        by: {
          orgId: row.org_id,
          tenantId: row.tenant_id,
          environment: row.environment,
          projectId: row.project_id,
          keyId: row.key_id,
          allowedDomainIds: null,
          boundProjectId: null,
        },
        from: { address: row.from_address, name: row.from_name },
        to: withNames(row.to_addresses),
        cc: withNames(row.cc),
        bcc: withNames(row.bcc),
        replyTo: row.reply_to.map(withReplyName),
        requested: [...row.to_addresses, ...row.cc, ...row.bcc],
        subject: row.subject,
        html: row.html,
        text: row.text,
        template: null,
        stream: row.stream,
        headers: row.headers ?? {},
        attachments: [],
        trackOpens: row.track_opens,
        trackClicks: row.track_clicks,
        tags: row.tags,
        metadata: row.metadata ?? {},
        scheduledAt: row.scheduled_at,
        jobId: row.job_id,
        unsubscribeUrl: null,
        pages: {},
        sender: null,
      }
    },
  }
}
