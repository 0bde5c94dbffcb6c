/** What is typed into the form, and the request that it becomes. */
import { ApiError } from '../../../api/api-error.ts'
import { readVariables } from '../../../parts/template-variables.ts'
import { compose } from '../../../strings/compose.ts'

export const emptyDraft = {
  channel: 'email' as 'email' | 'sms',
  from: '',
  to: '',
  cc: '',
  bcc: '',
  replyTo: '',
  template: '',
  variables: '{}',
  subject: '',
  html: '',
  text: '',
  body: '',
  when: '',
  dlt: '',
  tags: '',
  metadata: '',
  tenant: '',
}

export type MessageDraft = typeof emptyDraft

/** Addresses are separated by commas: a display name contains spaces. So are tags. */
const entriesOf = (text: string): string[] =>
  text
    .split(/[,;\n]+/)
    .map((entry) => entry.trim())
    .filter(Boolean)

/** Lines of name=value. A value may contain the sign. */
export const readMetadata = (text: string): { metadata: Record<string, string>; fault?: string } => {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const wrong = lines.find((line) => line.indexOf('=') < 1)
  const pairs = lines.map((line) => [line.slice(0, line.indexOf('=')).trim(), line.slice(line.indexOf('=') + 1).trim()])
  return { metadata: Object.fromEntries(pairs), ...(wrong && { fault: compose.metadataFault(wrong) }) }
}

const isEmpty = (value: unknown): boolean => Object.keys(value as object).length === 0

const given = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== '' && (typeof value !== 'object' || !isEmpty(value))),
  )

/** The body of a request to the API. Empty fields are left out, so that the service says which it needs. */
export const requestOf = (draft: MessageDraft): Record<string, unknown> => {
  const { channel, from, to, template, subject, html, text, body, when, dlt } = draft
  const content = template
    ? { template, variables: readVariables(draft.variables).variables ?? {} }
    : channel === 'email'
      ? { html, text }
      : { body }
  const labels = { tags: entriesOf(draft.tags), metadata: readMetadata(draft.metadata).metadata }
  const scheduled = when && !Number.isNaN(Date.parse(when)) ? new Date(when).toISOString() : ''
  return channel === 'sms'
    ? given({ from, to: to.trim(), ...content, scheduled_at: scheduled, dlt_template_id: dlt.trim(), ...labels })
    : given({
        from,
        to: entriesOf(to),
        cc: entriesOf(draft.cc),
        bcc: entriesOf(draft.bcc),
        reply_to: entriesOf(draft.replyTo),
        subject,
        ...content,
        scheduled_at: scheduled,
        ...labels,
      })
}

const fieldOfCode: Record<string, string> = {
  NO_SENDER: 'from',
  INVALID_FROM: 'from',
  DOMAIN_NOT_VERIFIED: 'from',
  SENDER_NOT_REGISTERED: 'from',
  SENDER_NOT_VERIFIED: 'from',
  ALL_SUPPRESSED: 'to',
  TO_ALL_SUPPRESSED: 'to',
  SUPPRESSED: 'to',
  SANDBOX_RECIPIENT_NOT_ALLOWED: 'to',
  SMS_DESTINATION_NOT_ALLOWED: 'to',
  HIGH_COST_DESTINATION: 'to',
  SCHEDULED_SINGLE_RECIPIENT: 'to',
  SCHEDULED_AT_IN_PAST: 'scheduled_at',
  SCHEDULED_AT_TOO_FAR: 'scheduled_at',
  SCHEDULED_NO_ATTACHMENTS: 'attachments',
  ATTACHMENT_TOO_LARGE: 'attachments',
  TENANT_NOT_ACTIVE: 'tenant_id',
  DLT_TEMPLATE_REQUIRED: 'dlt_template_id',
  DLT_TEMPLATE_NOT_FOUND: 'dlt_template_id',
  DLT_TEMPLATE_NOT_APPROVED: 'dlt_template_id',
}

export type Faults = {
  of: (field: string) => string | undefined
  /** What belongs to no field of the form. */
  rest: unknown
}

/** Puts each error at its field. Some errors of the service concern a field although they name none. */
export const faultsIn = (error: unknown, shown: readonly string[]): Faults => {
  if (!(error instanceof ApiError)) return { of: () => undefined, rest: error }
  const faults = new Map<string, string>()
  for (const { path, message } of error.fields) {
    const [field, ...inner] = path
    const where = inner.filter((part) => typeof part === 'string').join('.')
    if (!faults.has(String(field))) faults.set(String(field), where ? `${where}: ${message}` : message)
  }
  const named = fieldOfCode[error.code ?? '']
  if (faults.size === 0 && named) faults.set(named, error.message)
  const isPlaced = faults.size > 0 && [...faults.keys()].every((field) => shown.includes(field))
  return { of: (field) => faults.get(field), rest: isPlaced ? undefined : error }
}
