import type { Senders } from '../../../domains/sender.ts'
import type { Gate } from '../../draft.ts'
import { domainPart } from '../addresses.ts'
import type { EmailDraft } from '../draft.ts'

/** The from domain is the org's own and proven; test mode asks only what the key itself is limited to. */
export const senderGate = (senders: Senders): Gate<EmailDraft> => ({
  name: 'sender',
  at: ['single', 'batch', 'fire'],
  check: async (draft) => {
    const name = domainPart(draft.from.address)
    const caller = { ...draft.by, projectId: draft.by.boundProjectId }
    if (draft.by.environment === 'test') await senders.judgeTest(caller, name)
    else draft.sender = await senders.judge(caller, name)
  },
})
