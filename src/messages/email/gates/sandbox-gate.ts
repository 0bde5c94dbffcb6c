import { Failure } from '../../../ground/errors.ts'
import { comparable } from '../../../ground/mailbox.ts'
import type { Gate, SendKind } from '../../draft.ts'
import { destinations, type EmailDraft } from '../email-draft.ts'

/** Of the addresses, those that members of the org sign in with and have proven. */
export type FindMembers = (orgId: string, addresses: string[]) => Promise<ReadonlySet<string>>

/** The sandbox sender writes to the org's own people only. A batch is held to all it named, even the suppressed. */
export const sandboxGate = (findMembers: FindMembers): Gate<EmailDraft> => {
  const ownPeopleOnly = async (draft: EmailDraft, entrance: SendKind): Promise<void> => {
    const held = entrance === 'batch' ? draft.asked : destinations(draft).map(({ address }) => address)
    const addresses = held.map(comparable)
    const members = await findMembers(draft.by.orgId, addresses)
    if (!addresses.every((address) => members.has(address))) {
      throw new Failure('SANDBOX_RECIPIENT_NOT_ALLOWED')
    }
  }
  return {
    name: 'sandbox',
    at: ['single', 'batch', 'fire'],
    check: (draft, entrance) => (draft.sender?.kind === 'sandbox' ? ownPeopleOnly(draft, entrance) : undefined),
  }
}
