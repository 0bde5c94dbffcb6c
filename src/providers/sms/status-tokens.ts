/** The status tokens that SMS providers report, and what each means for the message. */
import { noBounce, type Report } from '../handover.ts'

/** `pending` changes nothing. Undefined is a token that is not known. */
export type TokenMeaning = Extract<Report['kind'], 'delivered' | 'hard_bounce' | 'failed'> | 'pending'

const meanings: Record<TokenMeaning, readonly string[]> = {
  delivered: ['DELIVERED'],
  hard_bounce: ['BLOCKED', 'CARRIER_BLOCKED', 'INVALID_NUMBER', 'INVALID', 'OPTED_OUT', 'SPAM'],
  failed: [
    'FAILURE',
    'EXPIRED',
    'TTL_EXPIRED',
    'UNREACHABLE',
    'CARRIER_UNREACHABLE',
    'PROTECT_BLOCKED',
    'INVALID_MESSAGE',
  ],
  pending: ['PENDING', 'QUEUED', 'SENT'],
}

/** Success has a different name without a twin: there is no TEXT_SUCCESS. */
const byToken = new Map<string, TokenMeaning>([
  ['SUCCESS', 'delivered'],
  ['TEXT_SUCCESSFUL', 'delivered'],
  ['MMS_SUCCESSFUL', 'delivered'],
  ...Object.entries(meanings).flatMap(([meaning, tokens]) =>
    tokens
      .flatMap((token) => [token, `TEXT_${token}`, `MMS_${token}`])
      .map((token): [string, TokenMeaning] => [token, meaning as TokenMeaning]),
  ),
])

export const meaningOfToken = (token: string): TokenMeaning | undefined => {
  const upper = token.toUpperCase()
  // Faults of an attached file: its size, its type, or a file that could not be read.
  if (upper.startsWith('MMS_FILE_')) return 'failed'
  return byToken.get(upper)
}

/** The report for a token. Undefined for tokens that change nothing. */
export const reportOfToken = (token: string, recipient: string, at: Date): Report | undefined => {
  const kind = meaningOfToken(token)
  if (kind === undefined || kind === 'pending') return undefined
  return {
    kind,
    recipients: [recipient],
    at,
    detail: token.toUpperCase(),
    ...noBounce,
    token,
  }
}

/** For the log. A provider can report any text, which may contain a phone number. */
export const loggedToken = (token: string): string => (/^[a-z_]{1,64}$/i.test(token) ? token : 'not a token')
