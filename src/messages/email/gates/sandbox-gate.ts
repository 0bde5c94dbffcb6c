import { Failure } from '../../../ground/errors.ts'
import { comparable } from '../../../ground/mailbox.ts'
import type { Gate, SendKind } from '../../draft.ts'
import { destinations, type EmailDraft } from '../email-draft.ts'

/** Returns those of the addresses that belong to members of the org and are verified. */
export type FindMembers = (orgId: string, addresses: string[]) => Promise<ReadonlySet<string>>

/**
 * The sandbox sender may only write to members of the org. A batch item is checked with all requested recipients,
 * including suppressed ones.
 */
export const sandboxGate = (findMembers: FindMembers): Gate<EmailDraft> => {
  const membersOnly = async (draft: EmailDraft, kind: SendKind): Promise<void> => {
    const recipients = kind === 'batch' ? draft.requested : destinations(draft).map(({ address }) => address)
    const addresses = recipients.map(comparable)
    const members = await findMembers(draft.by.orgId, addresses)
    if (!addresses.every((address) => members.has(address))) {
      throw new Failure('SANDBOX_RECIPIENT_NOT_ALLOWED')
    }
  }
  return {
    name: 'sandbox',
    at: ['single', 'batch', 'fire', 'code'],
    applies: (draft) => draft.sender?.kind === 'sandbox',
    check: membersOnly,
  }
}
