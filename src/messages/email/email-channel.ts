import { warmupCap } from '../../domains/sender.ts'
import type { Clock } from '../../ground/clock.ts'
import { Failure } from '../../ground/errors.ts'
import { andThen } from '../../ground/maybe-promise.ts'
import { nonEmpty } from '../../ground/non-empty.ts'
import type { Address, EmailProvider, Handover, Mail } from '../../providers/email/email-provider.ts'
import type { Links } from '../../tracking/links.ts'
import { emailPrice } from '../../usage/plan-limits.ts'
import type { Usage } from '../../usage/reserve.ts'
import type { ChannelAdapter } from '../channel-adapter.ts'
import { bySendKind } from '../draft.ts'
import type { MessageRow } from '../store.ts'
import { destinations, type EmailDraft, mailOf } from './email-draft.ts'
import { type EmailGateNeeds, emailGates } from './gates/email-gates.ts'

const bare = (list: Address[]): string[] => list.map(({ address }) => address)

/** Keeps the name beside which an address is answered apart from that under which it is written to. */
const replyKey = (address: string): string => `reply-to ${address}`

const hasName = ({ name }: Address): boolean => name !== null

const namesOf = (draft: EmailDraft): Record<string, string> | undefined => {
  const { replyTo } = draft
  const written = destinations(draft)
  if (!written.some(hasName) && !replyTo.some(hasName)) return undefined
  return Object.fromEntries([
    ...written.filter(hasName).map(({ address, name }) => [address, name as string]),
    ...replyTo.filter(hasName).map(({ address, name }) => [replyKey(address), name as string]),
  ])
}

/** Of a part. Links that are filled in or wrapped make a text many times as long as it was asked for. */
const mostCharacters = 20_000_000

type Needs = EmailGateNeeds & {
  clock: Clock
  usage: Usage
  links: Links
  provider: EmailProvider
  simulate: (mail: Mail) => Handover
}

export const makeEmailChannel = (needs: Needs): ChannelAdapter<EmailDraft> => {
  const { clock, usage, links, provider, simulate } = needs
  return {
    name: 'email',
    gates: bySendKind(emailGates(needs)),

    finish: (draft) => {
      const { trackOpens, trackClicks, unsubscribeUrl } = draft
      if (draft.html !== null && (trackOpens || trackClicks)) {
        const ref = { orgId: draft.by.orgId, messageId: draft.id }
        draft.html = links.track(draft.html, { ...ref, trackOpens, trackClicks, unsubscribeUrl })
      }
      const longest = Math.max(draft.html?.length ?? 0, draft.text?.length ?? 0)
      if (longest > mostCharacters) {
        const message = 'With its links filled in, a part has more than 20,000,000 characters.'
        throw new Failure('PAYLOAD_TOO_LARGE', { message })
      }
    },

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
      to_addresses: bare(draft.to),
      cc: nonEmpty(bare(draft.cc)),
      bcc: nonEmpty(bare(draft.bcc)),
      reply_to: nonEmpty(bare(draft.replyTo)),
      names: namesOf(draft),
      subject: draft.subject ?? undefined,
      html: draft.html ?? undefined,
      text: draft.text ?? undefined,
      headers: Object.keys(draft.headers).length === 0 ? undefined : draft.headers,
      // Names and types only: the bytes are handed over and never kept.
      attachments: nonEmpty(
        draft.attachments.map(({ filename, contentType }) => ({ filename, content_type: contentType })),
      ),
      track_opens: draft.trackOpens || undefined,
      track_clicks: draft.trackClicks || undefined,
    }),

    handOver: (draft) => {
      const mail = mailOf(draft, clock.now())
      return draft.by.environment === 'test' ? simulate(mail) : provider.send(mail)
    },

    draftOf: (row: MessageRow): EmailDraft => {
      const { names } = row
      const named = (list: string[]): Address[] => list.map((address) => ({ address, name: names?.[address] ?? null }))
      const answered = (address: string): Address => ({
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
        to: named(row.to_addresses),
        cc: named(row.cc),
        bcc: named(row.bcc),
        replyTo: row.reply_to.map(answered),
        asked: [...row.to_addresses, ...row.cc, ...row.bcc],
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
        sender: null,
      }
    },
  }
}
