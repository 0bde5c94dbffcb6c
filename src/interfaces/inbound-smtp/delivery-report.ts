/** Reads bounces (RFC 3464) and complaints (RFC 5965) out of a parsed message. */
import type { Report } from '../../providers/handover.ts'
import type { ParsedMail } from '../submission/parsed-mail.ts'
import { addressIn, type ReportFields, readReportFields } from './report-fields.ts'

/** One entry of a report. `addresses` are the recipients it names, the one that the sender used first. */
export type ReportEntry = Omit<Report, 'recipients' | 'at'> & { addresses: string[] }

const maxDetail = 1_000

const statusPattern = /\b([245])\.\d{1,3}\.\d{1,3}\b/
const replyPattern = /\b([45])\d\d\b/

/** The status of a recipient. Some servers write it only into the diagnostic text. */
const statusOf = (status: string, diagnostic: string) => {
  const enhanced = statusPattern.exec(status) ?? statusPattern.exec(diagnostic)
  const [text, kind] = enhanced ?? replyPattern.exec(diagnostic) ?? ['', '5']
  return { text, permanent: kind === '5' }
}

/**
 * Permanent failures that do not mean that the address is invalid: a full mailbox, a message that is too large or
 * rejected for its content, and policies.
 */
const notTheAddress = /^5\.(?:2\.[23]|3\.4|6\.\d+|7\.\d+)$/

const subtypes: [pattern: RegExp, subtype: string][] = [
  [/^5\.1\.\d+$/, 'NoEmail'],
  [/^[45]\.2\.2$/, 'MailboxFull'],
  [/^[45]\.(?:2\.3|3\.4)$/, 'MessageTooLarge'],
  [/^[45]\.6\.\d+$/, 'ContentRejected'],
]

const detailOf = (diagnostic: string, status: string): string | null => {
  const text = diagnostic.replace(/^[\w-]+\s*;\s*/, '').replace(/\s+/g, ' ')
  return (text || status).slice(0, maxDetail) || null
}

const failedEntry = (fields: ReportFields, addresses: string[]): ReportEntry => {
  const diagnostic = fields.get('diagnostic-code') ?? ''
  const { text, permanent } = statusOf(fields.get('status') ?? '', diagnostic)
  return {
    kind: permanent && !notTheAddress.test(text) ? 'hard_bounce' : 'soft_bounce',
    addresses,
    detail: detailOf(diagnostic, text),
    bounceType: permanent ? 'Permanent' : 'Transient',
    bounceSubtype: subtypes.find(([pattern]) => pattern.test(text))?.[1] ?? 'General',
  }
}

/** `delayed` announces further attempts, `relayed` and `expanded` leave the outcome open: none of them changes a message. */
const entryOf = (fields: ReportFields): ReportEntry[] => {
  const addresses = ['original-recipient', 'final-recipient'].flatMap((name) => addressIn(fields.get(name)) ?? [])
  const action = fields
    .get('action')
    ?.toLowerCase()
    .split(/[\s(;]/)[0]
  if (action === 'failed') return [failedEntry(fields, addresses)]
  if (action !== 'delivered') return []
  return [{ kind: 'delivered', addresses, detail: null, bounceType: null, bounceSubtype: null }]
}

/** The first group of fields is about the report itself, every other one about a recipient. */
const bouncesIn = (content: Uint8Array): ReportEntry[] =>
  readReportFields(content)
    .filter((fields) => fields.has('final-recipient') || fields.has('original-recipient'))
    .flatMap(entryOf)

/** `not-spam` withdraws a complaint. The other two report failed authentication. */
const notComplaints = new Set(['not-spam', 'auth-failure', 'dmarc'])

const complaintsIn = (content: Uint8Array): ReportEntry[] => {
  const [fields] = readReportFields(content)
  const type = fields?.get('feedback-type')?.toLowerCase()
  if (!fields || !type || notComplaints.has(type)) return []
  const addresses = ['original-rcpt-to', 'removal-recipient'].flatMap((name) => addressIn(fields.get(name)) ?? [])
  return [{ kind: 'complaint', addresses, detail: type.slice(0, maxDetail), bounceType: null, bounceSubtype: null }]
}

const readers = new Map<string, (content: Uint8Array) => ReportEntry[]>([
  ['message/delivery-status', bouncesIn],
  ['message/global-delivery-status', bouncesIn],
  ['message/feedback-report', complaintsIn],
])

/** Empty for a message that is not a report, such as an automatic reply, and for a report that changes nothing. */
export const readDeliveryReport = ({ attachments }: Pick<ParsedMail, 'attachments'>): ReportEntry[] => {
  // The first one only: the returned message may contain a report of its own.
  const part = attachments.find(({ type }) => readers.has(type.toLowerCase()))
  return part ? (readers.get(part.type.toLowerCase())?.(part.content) ?? []) : []
}
