/** The gates of an email, in order. Those that render and read its content are in files of their own. */
import type { Clock } from '../../../../platform/ground/clock.ts'
import { Failure } from '../../../../platform/ground/errors.ts'
import { comparable } from '../../../../platform/ground/mailbox.ts'
import { andThen } from '../../../../platform/ground/maybe-promise.ts'
import type { Senders } from '../../../../senders/domains/sender.ts'
import type { RenderTemplates } from '../../../templates/render.ts'
import type { Links } from '../../../tracking/links.ts'
import type { Gate } from '../../draft.ts'
import { staysScheduled } from '../../schedule.ts'
import { destinations, type EmailDraft } from '../email-draft.ts'
import { noSender } from '../shapes.ts'
import { contentGate, templateGate } from './template-gate.ts'
import { unsubscribeGate } from './unsubscribe-gate.ts'

/** Rejects a `from` without a domain before any other gate. Test mode accepts any sender of a code. */
export const fromGate: Gate<EmailDraft> = {
  name: 'from',
  at: ['single', 'batch', 'code'],
  check: (draft, kind) => {
    if (kind === 'code' && draft.by.environment === 'test') return
    if (draft.from === noSender) throw new Failure('INVALID_FROM')
  },
}

/** Validates `scheduled_at`. A scheduled email has one recipient and no attachments. */
const scheduleGate = (clock: Clock): Gate<EmailDraft> => ({
  name: 'schedule',
  at: ['single'],
  check: (draft) => {
    if (!staysScheduled(draft, clock)) return
    if (draft.to.length > 1) throw new Failure('SCHEDULED_SINGLE_RECIPIENT')
    if (draft.attachments.length > 0) throw new Failure('SCHEDULED_NO_ATTACHMENTS')
  },
})

/** Requires a verified domain of the org in `from`. Test mode checks only the restrictions of the key. */
export const senderGate = (senders: Senders): Gate<EmailDraft> => ({
  name: 'sender',
  at: ['single', 'batch', 'fire', 'code'],
  check: (draft) => {
    const { by, from } = draft
    const domain = from.address.slice(from.address.lastIndexOf('@') + 1)
    const { orgId, tenantId, environment, allowedDomainIds, boundProjectId: projectId } = by
    const caller = { orgId, tenantId, environment, allowedDomainIds, projectId }
    if (environment === 'test') return senders.assertTestAllowed(caller, domain)
    return andThen(senders.resolve(caller, domain), (sender) => {
      draft.sender = sender
    })
  },
})

/** Returns those of the addresses that belong to members of the org and are verified. */
type FindMembers = (orgId: string, addresses: string[]) => Promise<ReadonlySet<string>>

/**
 * The sandbox sender may only write to members of the org. A batch item is checked with all requested recipients,
 * including suppressed ones.
 */
const sandboxGate = (findMembers: FindMembers): Gate<EmailDraft> => ({
  name: 'sandbox',
  at: ['single', 'batch', 'fire', 'code'],
  applies: (draft) => draft.sender?.kind === 'sandbox',
  check: async (draft, kind) => {
    const recipients = kind === 'batch' ? draft.requested : destinations(draft).map(({ address }) => address)
    const addresses = recipients.map(comparable)
    const members = await findMembers(draft.by.orgId, addresses)
    if (!addresses.every((address) => members.has(address))) throw new Failure('SANDBOX_RECIPIENT_NOT_ALLOWED')
  },
})

export type EmailGateNeeds = {
  clock: Clock
  templates: RenderTemplates
  links: Links
  senders: Senders
  findMembers: FindMembers
}

/** The gates of an email, in order. The suppression check, the late gates and the usage limits follow. */
export const emailGates = (needs: EmailGateNeeds): readonly Gate<EmailDraft>[] => [
  fromGate,
  scheduleGate(needs.clock),
  templateGate(needs.templates),
  contentGate,
  unsubscribeGate(needs.links),
  senderGate(needs.senders),
]

export const lateEmailGates = (needs: EmailGateNeeds): readonly Gate<EmailDraft>[] => [sandboxGate(needs.findMembers)]
