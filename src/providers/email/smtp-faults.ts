/** What an SMTP relay's answer, or its silence, means for the message. */
import type { HandoverFault, Report } from './email-provider.ts'

/** As nodemailer describes what went wrong. */
export type SmtpError = Error & {
  code?: string
  /** The server's answer, whole. */
  response?: string
  responseCode?: number
  /** What was being said to the server. */
  command?: string
}

export type SmtpFault = { kind: HandoverFault; words: string }

/** Answers about the session and not about the message: it is in order, and another relay may take it. */
const aboutTheSession = new Set([503, 530, 534, 535, 538])

/** Answers with which relays say that we are too fast; they say other things with them as well. */
const mayBeThrottling = new Set([421, 450, 451, 452, 454])
const throttling = /\b4\.7\.28\b|\brate\b|\bthrottl|\btoo (many|fast|much)\b|\bslow down\b|\bexceed|\bquota\b|\blimit/i
/** A full disk or mailbox is over a limit too, but sending slower does not help. */
const fullStore = /\b4\.(2\.2|3\.1)\b|\b(disk|storage|mailbox|space)\b/i

const judgeAnswer = (code: number, words: string): HandoverFault => {
  if (code >= 500) return aboutTheSession.has(code) ? 'unavailable' : 'refused'
  return mayBeThrottling.has(code) && throttling.test(words) && !fullStore.test(words) ? 'throttled' : 'unavailable'
}

const aboutTheMessage = new Set(['MAIL FROM', 'RCPT TO', 'DATA'])

/** @param sent Whether the whole message had gone out, so that only the relay knows what became of it. */
export const judgeSmtp = (error: SmtpError, sent: boolean): SmtpFault => {
  const { code, command = '', response, responseCode } = error
  const answered = response !== undefined && responseCode !== undefined
  if (answered && aboutTheMessage.has(command)) return { kind: judgeAnswer(responseCode, response), words: response }
  if (sent) return { kind: 'uncertain', words: 'The mail relay took the message and did not say what became of it.' }
  // Judged before anything was said: an address or a size that this relay can never take.
  if (code === 'EENVELOPE' || code === 'EMESSAGE') return { kind: 'refused', words: error.message }
  if (code === 'EAUTH' || code === 'ENOAUTH') {
    return { kind: 'unavailable', words: 'The mail relay did not accept our credentials.' }
  }
  if (answered) {
    // A greeting of 5xx closes the relay's door to us, not to the message.
    return {
      kind: responseCode >= 500 ? 'unavailable' : judgeAnswer(responseCode, response),
      words: response,
    }
  }
  if (code === 'ETLS') return { kind: 'unavailable', words: 'The mail relay could not be reached over TLS.' }
  return { kind: 'unavailable', words: 'The mail relay could not be reached or ended the connection.' }
}

/**
 * What is said of a recipient who was refused while others were taken. Only a lasting answer about the mailbox is
 * a hard bounce: policy (5.7) and passing faults (4xx) say nothing about the address.
 */
export const reportRefused = (recipient: string, error: SmtpError, at: Date): Report => {
  const words = error.response ?? error.message
  const lasting = (error.responseCode ?? 0) >= 500
  const hard = lasting && !/\b5\.7\.\d/.test(words)
  return {
    kind: hard ? 'hard_bounce' : 'soft_bounce',
    recipients: [recipient],
    at,
    detail: words,
    bounceType: lasting ? 'Permanent' : 'Transient',
    bounceSubtype: 'General',
  }
}
