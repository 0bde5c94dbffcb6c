import { Failure } from '../../../ground/errors.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../email-draft.ts'
import { noSender } from '../shapes.ts'

/** Rejects a `from` without a domain, in live and test mode, before any other gate. */
export const fromGate: Gate<EmailDraft> = {
  name: 'from',
  at: ['single', 'batch'],
  check: (draft) => {
    if (draft.from === noSender) throw new Failure('INVALID_FROM')
  },
}
