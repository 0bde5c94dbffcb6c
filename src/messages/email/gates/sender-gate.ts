import type { Senders } from '../../../domains/sender.ts'
import { andThen } from '../../../ground/maybe-promise.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../email-draft.ts'

/** The from domain is the org's own and proven; test mode asks only what the key itself is limited to. */
export const senderGate = (senders: Senders): Gate<EmailDraft> => ({
  name: 'sender',
  at: ['single', 'batch', 'fire'],
  check: (draft) => {
    const { by, from } = draft
    const name = from.address.slice(from.address.lastIndexOf('@') + 1)
    const { orgId, tenantId, environment, allowedDomainIds, boundProjectId: projectId } = by
    const caller = { orgId, tenantId, environment, allowedDomainIds, projectId }
    if (environment === 'test') return senders.judgeTest(caller, name)
    return andThen(senders.judge(caller, name), (sender) => {
      draft.sender = sender
    })
  },
})
