/** Maps SMTP replies and connection errors to handover faults and bounce reports. */
import type { HandoverFaultKind, Report } from '../handover.ts'

/** An error of nodemailer. */
export type SmtpError = Error & {
  code?: string
  /** The complete reply of the server. */
  response?: string
  responseCode?: number
  /** The command that the server replied to. */
  command?: string
}

/** A reply to RCPT TO. */
export type RecipientError = SmtpError & { recipient?: string }

/** Replies about the session, not about the message. Another relay may accept the message. */
const sessionCodes = new Set([503, 530, 534, 535, 538])

/** Replies that relays use for throttling, among other things. */
const possibleThrottlingCodes = new Set([421, 450, 451, 452, 454])
const throttling = /\b4\.7\.28\b|\brate\b|\bthrottl|\btoo (many|fast|much)\b|\bslow down\b|\bexceed|\bquota\b|\blimit/i
/** A full disk or mailbox exceeds a limit too, but sending more slowly does not help. */
const storageFull = /\b4\.(2\.2|3\.1)\b|\b(disk|storage|mailbox|space)\b/i

const isThrottling = (code: number, text: string): boolean =>
  possibleThrottlingCodes.has(code) && throttling.test(text) && !storageFull.test(text)

const classifyReply = (code: number, text: string): HandoverFaultKind => {
  if (code >= 500) return sessionCodes.has(code) ? 'unavailable' : 'refused'
  return isThrottling(code, text) ? 'throttled' : 'unavailable'
}

const messageCommands = new Set(['MAIL FROM', 'RCPT TO', 'DATA'])

/** @param sent Whether the complete message was sent, so that only the relay knows whether it accepted it. */
export const classifySmtpError = (error: SmtpError, sent: boolean): { kind: HandoverFaultKind; message: string } => {
  const { code, command = '', response, responseCode } = error
  const replied = response !== undefined && responseCode !== undefined
  if (replied && messageCommands.has(command)) return { kind: classifyReply(responseCode, response), message: response }
  if (sent) return { kind: 'uncertain', message: 'The mail relay did not confirm the message. It may have been sent.' }
  // Rejected by nodemailer before anything was sent: an address or a size that this relay can never accept.
  if (code === 'EENVELOPE' || code === 'EMESSAGE') return { kind: 'refused', message: error.message }
  if (code === 'EAUTH' || code === 'ENOAUTH') {
    return { kind: 'unavailable', message: 'The mail relay did not accept our credentials.' }
  }
  if (replied) {
    // A 5xx greeting rejects this client, not the message.
    return {
      kind: responseCode >= 500 ? 'unavailable' : classifyReply(responseCode, response),
      message: response,
    }
  }
  if (code === 'ETLS') return { kind: 'unavailable', message: 'The mail relay could not be reached over TLS.' }
  return { kind: 'unavailable', message: 'The mail relay could not be reached or closed the connection.' }
}

const enhancedCode = /\b5\.(\d{1,3})\.(\d{1,3})\b/
/** 5.1.7 and 5.1.8 are about the sender, and 5.1.9 is about the relay of the recipient. */
const notTheRecipient = new Set(['7', '8', '9'])
/** How servers without enhanced codes say that an address does not exist. */
const unknownMailbox =
  /\b(no such|unknown|invalid) (user|mailbox|recipient|address|account)\b|\b(user|mailbox|recipient|address|account) (is )?(unknown|not found|invalid|does not exist)\b/i

/**
 * Whether the reply to RCPT TO means that the address does not exist. Any other permanent reply, such as a policy (5.7)
 * or a full mailbox (5.2), says nothing about the address.
 */
export const isRefusedForGood = ({ responseCode = 0, response = '' }: SmtpError): boolean => {
  if (responseCode < 500) return false
  const enhanced = enhancedCode.exec(response)
  if (enhanced) return enhanced[1] === '1' && !notTheRecipient.has(enhanced[2] as string)
  return unknownMailbox.test(response)
}

/** Reports a recipient that the relay rejected while it accepted others. */
export const reportRefused = (recipient: string, error: SmtpError, at: Date): Report => {
  const detail = error.response ?? error.message
  const isPermanent = (error.responseCode ?? 0) >= 500
  return {
    kind: isRefusedForGood(error) ? 'hard_bounce' : 'soft_bounce',
    recipients: [recipient],
    at,
    detail,
    bounceType: isPermanent ? 'Permanent' : 'Transient',
    bounceSubtype: 'General',
  }
}
