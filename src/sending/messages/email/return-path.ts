/** Return paths with a signed token, for an installation that receives bounces itself. */
import { wireAddress } from '../../../providers/email/compose-mime.ts'
import { destinations, type EmailDraft, plainReturnPath, type ReturnPathOf } from './email-draft.ts'
import type { ReturnTokens } from './return-token.ts'

/** The host of return paths, for domains that have not published their own. */
export const feedbackHost = (serviceDomain: string): string => `feedback.${serviceDomain}`

/** The index of the recipient when the envelope has only one, which may be repeated in the mail. */
const onlyRecipient = (draft: EmailDraft): number | null => {
  const [first, ...others] = destinations(draft).map(({ address }) => wireAddress(address))
  return others.every((other) => other === first) ? 0 : null
}

type Needs = { tokens: ReturnTokens; serviceDomain: string }

export const makeReturnPathOf = ({ tokens, serviceDomain }: Needs): ReturnPathOf => {
  const ownHost = feedbackHost(serviceDomain)
  return (draft) => {
    const { id, by, sender } = draft
    // A test-mode message is not transmitted.
    if (sender === null) return null
    const token = tokens.sign({ orgId: by.orgId, messageId: id, recipient: onlyRecipient(draft) })
    if (token === undefined) return plainReturnPath(draft)
    return `${token}@${(sender.kind === 'domain' ? sender.returnPath : null) ?? ownHost}`
  }
}
