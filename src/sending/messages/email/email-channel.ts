import { emailPrice } from '../../../customers/usage/plan-limits.ts'
import type { Usage } from '../../../customers/usage/reserve.ts'
import { type Clock, systemClock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { comparable } from '../../../platform/ground/mailbox.ts'
import { andThen } from '../../../platform/ground/maybe-promise.ts'
import type { EmailProvider, Mail } from '../../../providers/email/email-provider.ts'
import type { Handover } from '../../../providers/handover.ts'
import { warmupCap } from '../../../senders/domains/sender.ts'
import type { Links } from '../../tracking/links.ts'
import type { ChannelAdapter } from '../channel-adapter.ts'
import { bySendKind } from '../draft.ts'
import {
  contentOfEmail,
  destinations,
  type EmailDraft,
  emailDraftOf,
  mailOf,
  type ReturnPathOf,
} from './email-draft.ts'
import { makeFillLinks } from './fill-links.ts'
import { type EmailGateNeeds, emailGates, lateEmailGates } from './gates/email-gates.ts'

type Needs = EmailGateNeeds & {
  clock: Clock
  usage: Usage
  links: Links
  provider: EmailProvider
  simulate: (mail: Mail) => Handover
  returnPathOf: ReturnPathOf
}

/** Fails when no To recipient is left. */
const removeSuppressed = (draft: EmailDraft, suppressed: ReadonlySet<string>): void => {
  const allowed = (list: EmailDraft['to']) => list.filter(({ address }) => !suppressed.has(comparable(address)))
  draft.to = allowed(draft.to)
  draft.cc = allowed(draft.cc)
  draft.bcc = allowed(draft.bcc)
  if (draft.to.length > 0) return
  throw new Failure(destinations(draft).length === 0 ? 'ALL_SUPPRESSED' : 'TO_ALL_SUPPRESSED')
}

export const makeEmailChannel = (needs: Needs): ChannelAdapter<EmailDraft> => {
  const { clock, usage, links, provider, simulate, returnPathOf } = needs
  return {
    name: 'email',
    gates: bySendKind(emailGates(needs)),
    recipientsOf: (draft) => ({
      tenantId: draft.by.tenantId,
      values: destinations(draft).map(({ address }) => comparable(address)),
      broadcast: draft.stream === 'broadcast',
    }),
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
    contentOf: contentOfEmail,
    canBeSentLater: (draft) => draft.attachments.length === 0,
    handOver: (draft) => {
      if (draft.by.environment === 'test') return simulate(mailOf(draft, clock.now(), returnPathOf))
      // Mail servers and readers compare the Date header with their own clock.
      return provider.send(mailOf(draft, systemClock.now(), returnPathOf))
    },
    draftOf: emailDraftOf,
  }
}
