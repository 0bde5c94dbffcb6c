import { Failure } from '../../../ground/errors.ts'
import type { Gate } from '../../draft.ts'
import { parseAddress } from '../addresses.ts'
import type { EmailDraft } from '../draft.ts'

/** A sender without a domain is told so in both environments, before anything else about it. */
export const fromGate: Gate<EmailDraft> = {
  name: 'from',
  at: ['single', 'batch'],
  check: (draft) => {
    const from = parseAddress(draft.fromText)
    if (!from) throw new Failure('INVALID_FROM')
    draft.from = from
  },
}
