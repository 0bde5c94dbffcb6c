import { Failure } from '../../../ground/errors.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../email-draft.ts'
import { noSender } from '../shapes.ts'

/** Rejects a `from` without a domain before any other gate. Test mode accepts any sender of a code. */
export const fromGate: Gate<EmailDraft> = {
  name: 'from',
  at: ['single', 'batch', 'code'],
  check: (draft, kind) => {
    if (kind === 'code' && draft.by.environment === 'test') return
    if (draft.from === noSender) throw new Failure('INVALID_FROM')
  },
}
