/** The suppression check of an email: which recipients it concerns, and what happens to suppressed ones. */

import type { Recipients } from '../../../../customers/usage/decide-reservations.ts'
import { Failure } from '../../../../platform/ground/errors.ts'
import { comparable } from '../../../../platform/ground/mailbox.ts'
import { destinations, type EmailDraft } from '../email-draft.ts'

export const recipientsOfEmail = (draft: EmailDraft): Recipients => ({
  tenantId: draft.by.tenantId,
  values: destinations(draft).map(({ address }) => comparable(address)),
  broadcast: draft.stream === 'broadcast',
})

/** Fails when no To recipient is left. */
export const removeSuppressed = (draft: EmailDraft, suppressed: ReadonlySet<string>): void => {
  const allowed = (list: EmailDraft['to']) => list.filter(({ address }) => !suppressed.has(comparable(address)))
  draft.to = allowed(draft.to)
  draft.cc = allowed(draft.cc)
  draft.bcc = allowed(draft.bcc)
  if (draft.to.length > 0) return
  throw new Failure(destinations(draft).length === 0 ? 'ALL_SUPPRESSED' : 'TO_ALL_SUPPRESSED')
}
