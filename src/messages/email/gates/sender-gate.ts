import type { Senders } from '../../../domains/sender.ts'
import { andThen } from '../../../ground/maybe-promise.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../email-draft.ts'

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
