import { Failure } from '../../../ground/errors.ts'
import { comparable } from '../../../ground/mailbox.ts'
import type { FindSuppressed } from '../../../suppressions/find-suppressed.ts'
import type { Gate } from '../../draft.ts'
import { destinations, type EmailDraft } from '../email-draft.ts'

/** Removes suppressed recipients. Fails when no To recipient is left. */
export const suppressionGate = (findSuppressed: FindSuppressed): Gate<EmailDraft> => ({
  name: 'suppression',
  at: ['single', 'batch', 'fire'],
  check: async (draft) => {
    const { orgId, tenantId } = draft.by
    const values = destinations(draft).map(({ address }) => comparable(address))
    const broadcast = draft.stream === 'broadcast'
    const suppressed = await findSuppressed({ orgId, tenantId, channel: 'email', values, broadcast })
    if (suppressed.size === 0) return
    const allowed = (list: EmailDraft['to']) => list.filter(({ address }) => !suppressed.has(comparable(address)))
    draft.to = allowed(draft.to)
    draft.cc = allowed(draft.cc)
    draft.bcc = allowed(draft.bcc)
    if (draft.to.length > 0) return
    throw new Failure(destinations(draft).length === 0 ? 'ALL_SUPPRESSED' : 'TO_ALL_SUPPRESSED')
  },
})
