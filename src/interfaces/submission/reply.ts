/** Maps error codes of the catalogue to SMTP replies. */
import { refusalInOutage } from '../../platform/db/refuse-in-outage.ts'
import { type Code, Failure, invalid, retryAfterOf, typeOf } from '../../platform/ground/errors.ts'
import { currentRequest } from '../../platform/ground/request-context.ts'
import { HandoverFault } from '../../providers/handover.ts'

export type Reply = { code: number; text: string }

/** The step of the SMTP session. AUTH has its own reply codes. */
export type Stage = 'auth' | 'mail' | 'recipient'

const senderCodes: ReadonlySet<Code> = new Set<Code>([
  'INVALID_FROM',
  'SENDER_DOMAIN_NOT_VERIFIED',
  'DOMAIN_TENANT_MISMATCH',
  'DOMAIN_NOT_ALLOWED_FOR_KEY',
])
const recipientCodes: ReadonlySet<Code> = new Set<Code>([
  'ALL_SUPPRESSED',
  'TO_ALL_SUPPRESSED',
  'SANDBOX_RECIPIENT_NOT_ALLOWED',
])
/** Temporary errors. A mail server may keep the message and retry. */
const temporaryCodes: ReadonlySet<Code> = new Set<Code>(['RATE_LIMITED', 'IDEMPOTENCY_IN_FLIGHT', 'IP_POOL_PAUSED'])

/** A message that the provider rejected, or that was or may have been sent, must not be retried automatically. */
const isFinal = ({ cause, detail }: Failure): boolean =>
  detail.done === true || (cause instanceof HandoverFault && (cause.kind === 'refused' || cause.kind === 'uncertain'))

/** The provider accepted the message for nobody because the addresses do not exist. */
const isRecipientRefused = ({ cause }: Failure): boolean =>
  cause instanceof HandoverFault && cause.kind === 'refused' && cause.refusedRecipients.length > 0

/** Too many recipients. A mail server sends to the remaining ones in another message. */
const isTooMany = ({ detail }: Failure): boolean => detail.errors?.some(({ code }) => code === 'too_big') ?? false

const loneLineEndCode = 'lone_line_end'

export const loneLineEnd = (): Failure =>
  invalid(['message'], loneLineEndCode, 'Contains a CR or LF alone. End every line with CRLF and send it again.')

const isLoneLineEnd = ({ detail }: Failure): boolean =>
  detail.errors?.some(({ code }) => code === loneLineEndCode) ?? false

const codeOf = (failure: Failure, stage: Stage): [number, string] => {
  const { code, status } = failure
  if (status >= 500) {
    if (isRecipientRefused(failure)) return [550, '5.1.1']
    if (isFinal(failure)) return [554, '5.3.0']
    return stage === 'auth' ? [454, '4.7.0'] : [451, '4.3.0']
  }
  if (stage === 'auth') return code === 'RATE_LIMITED' ? [454, '4.7.0'] : [535, '5.7.8']
  if (code === 'UNAUTHORIZED') return [530, '5.7.0']
  if (stage === 'recipient') return isTooMany(failure) ? [452, '4.5.3'] : [553, '5.1.3']
  if (temporaryCodes.has(code)) return [450, '4.7.1']
  if (typeOf(code) === 'rate_limit_error') return [452, '4.7.1']
  if (status === 413) return [552, '5.3.4']
  if (senderCodes.has(code)) return [553, '5.7.1']
  if (recipientCodes.has(code) || typeOf(code) === 'authentication_error') return [550, '5.7.1']
  return [isLoneLineEnd(failure) ? 550 : 554, '5.6.0']
}

/** A reply line has at most 512 bytes, and not every client accepts characters other than ASCII. */
const oneLine = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 480)

export const replyTo = (failure: Failure, stage: Stage, requestId: string): Reply => {
  const [code, enhanced] = codeOf(failure, stage)
  const { errors = [], extra } = failure.detail
  // The message of the catalogue is about an HTTP header.
  const message =
    failure.code === 'UNAUTHORIZED' && failure.detail.message === undefined
      ? 'Authentication failed: the password must be a valid API key.'
      : failure.message
  const fields = errors.map((error) => `${error.path.join('.')}: ${error.message}`)
  const seconds = retryAfterOf(failure)
  const parts = [
    `${enhanced} ${failure.code}`,
    fields.length > 0 ? fields.join(' ') : message,
    ...(seconds === undefined ? [] : [`Retry in ${seconds} s.`]),
    ...(extra?.message_id === undefined ? [] : [extra.message_id]),
    `(${requestId})`,
  ]
  return { code, text: oneLine(parts.join(' ')) }
}

export const smtpRefusal = (failure: Failure, stage: Stage, requestId: string): Error => {
  const { code, text } = replyTo(failure, stage, requestId)
  return Object.assign(new Error(text), { responseCode: code })
}

/** Wraps any other error as INTERNAL_ERROR, or as UNAVAILABLE if the message was certainly not accepted. */
export const asFailure = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  return refusalInOutage(error, currentRequest()) ?? new Failure('INTERNAL_ERROR', { cause: error })
}
