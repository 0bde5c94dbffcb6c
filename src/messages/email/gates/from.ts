import { Failure, invalid } from '../../../ground/errors.ts'
import type { Gate } from '../../draft.ts'
import { domainPart, parseAddress } from '../addresses.ts'
import type { EmailDraft } from '../draft.ts'

/** A sender without a domain is told so in both environments, before anything else about it. */
export const fromGate: Gate<EmailDraft> = {
  name: 'from',
  at: ['single', 'batch'],
  check: (draft) => {
    if (domainPart(draft.fromText) === '') throw new Failure('INVALID_FROM')
    const from = parseAddress(draft.fromText)
    if (!from) throw invalid(['from'], 'invalid_string', 'Takes an email address, with or without a name.')
    draft.from = from
  },
}
