/** Emails to an audience. Each member gets a broadcast of their own. */
import { Failure } from '../../../platform/ground/errors.ts'
import { newId } from '../../../platform/ground/ids.ts'
import { comparable, parseMailbox } from '../../../platform/ground/mailbox.ts'
import type { Address } from '../../../providers/email/email-provider.ts'
import type { Senders } from '../../../senders/domains/sender.ts'
import type { Links } from '../../tracking/links.ts'
import type { BulkChannel, BulkSend, ChannelAdapter } from '../channel-adapter.ts'
import { type Gate, passGates } from '../draft.ts'
import { type EmailDraft, newEmailDraft } from './email-draft.ts'
import { fromGate, senderGate } from './gates/email-gates.ts'
import { contentGate } from './gates/template-gate.ts'
import { unsubscribeGate } from './gates/unsubscribe-gate.ts'
import { noSender } from './shapes.ts'

/** The sandbox sender writes to members of the org only, and an audience is never only that. */
const notFromSandbox: Gate<EmailDraft> = {
  name: 'sandbox',
  at: [],
  check: ({ sender }) => {
    if (sender?.kind === 'sandbox') throw new Failure('SANDBOX_RECIPIENT_NOT_ALLOWED')
  },
}

type Needs = { channel: ChannelAdapter<EmailDraft>; senders: Senders; links: Links }

export const makeBulkEmails = ({ channel, senders, links }: Needs): BulkChannel => {
  const ofSender = [fromGate, senderGate(senders), notFromSandbox]
  const ofMessage = [contentGate, unsubscribeGate(links)]

  /** Parsed once for all messages of a send. */
  const froms = new WeakMap<BulkSend, Address>()
  const fromOf = (send: BulkSend): Address => {
    const known = froms.get(send)
    if (known) return known
    const from = parseMailbox(send.from) ?? noSender
    froms.set(send, from)
    return from
  }

  const draftOf = (send: BulkSend, addresses: string[]): EmailDraft => ({
    ...newEmailDraft(
      newId('message', send.at.getTime()),
      send.by,
      {
        from: fromOf(send),
        reply_to: [],
        stream: 'broadcast',
        headers: {},
        track_opens: send.trackOpens,
        track_clicks: send.trackClicks,
        tags: [],
        metadata: {},
      },
      { to: addresses.map((address) => ({ address, name: null })), cc: [], bcc: [], attachments: [] },
    ),
    jobId: send.jobId,
    // Its presence means that the place of the unsubscribe link is a mark.
    template: { slug: send.template, variables: {} },
  })

  return {
    name: 'email',
    broadcast: true,
    comparable,
    checkSender: (send) => passGates(ofSender, draftOf(send, []), 'single'),
    checkDestinations: async () => undefined,
    compose: async (send, address, rendered) => {
      const draft = Object.assign(draftOf(send, [address]), rendered)
      await passGates(ofMessage, draft, 'single')
      const finishing = channel.finish(draft)
      if (finishing) await finishing
      return { draft, content: channel.contentOf(draft) }
    },
    priceOf: (draft) => channel.priceOf(draft as EmailDraft),
  }
}
