import { Failure } from '../../../ground/errors.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../email-draft.ts'
import { noSender } from '../shapes.ts'

/** A sender without a domain is told so in both environments, before anything else about it. */
export const fromGate: Gate<EmailDraft> = {
  name: 'from',
  at: ['single', 'batch'],
  check: (draft) => {
    if (draft.from === noSender) throw new Failure('INVALID_FROM')
  },
}
