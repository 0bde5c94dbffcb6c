/**
 * The email that nearly every request holds: plain fields within their bounds. It is read here without the schema, which
 * costs more than all the rules that follow. Whatever else a body holds, right or wrong, is the schema's to judge: a test
 * holds the two against each other.
 */

import { parseMailbox } from '../../ground/mailbox.ts'
import type { Address } from '../../providers/email/email-provider.ts'
import {
  type BatchItem,
  longestSubject,
  longestTag,
  longestValue,
  longestWritten,
  maxHeaders,
  maxRecipients,
  maxTags,
  type SendEmail,
} from './shapes.ts'

const lineBreak = /[\r\n]/

const addressIn = (value: unknown): Address | undefined =>
  typeof value === 'string' && value.length <= longestWritten ? parseMailbox(value) : undefined

const recipientsIn = (value: unknown): Address[] | undefined => {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxRecipients) return undefined
  const read: Address[] = []
  for (const one of value) {
    const address = addressIn(one)
    if (!address) return undefined
    read.push(address)
  }
  return read
}

const isWord = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= most

const areTags = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length <= maxTags && value.every((one) => isWord(one, longestTag))

const isMetadata = (value: unknown): value is Record<string, string> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const entries = Object.entries(value)
  return (
    entries.length <= maxHeaders &&
    entries.every(
      ([key, one]) =>
        isWord(key, longestTag) && key !== '__proto__' && typeof one === 'string' && one.length <= longestValue,
    )
  )
}

/** As the schema of a batch item reads it; undefined where that has to be asked. */
export const plainItem = (raw: unknown): BatchItem | undefined => {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return undefined
  const body = raw as Record<string, unknown>
  let tags: string[] = []
  let metadata: Record<string, string> = {}
  for (const key of Object.keys(body)) {
    const value = body[key]
    if (key === 'tags') {
      if (!areTags(value)) return undefined
      tags = value
    } else if (key === 'metadata') {
      if (!isMetadata(value)) return undefined
      metadata = value
    } else if (key === 'html' || key === 'text') {
      if (typeof value !== 'string') return undefined
    } else if (key !== 'from' && key !== 'to' && key !== 'subject') return undefined
  }
  const from = addressIn(body.from)
  const to = recipientsIn(body.to)
  const { subject, html, text } = body as { subject: unknown; html?: string; text?: string }
  if (!from || !to || !isWord(subject, longestSubject) || lineBreak.test(subject)) return undefined
  if (!html && !text) return undefined
  return {
    from,
    to,
    subject,
    html,
    text,
    tags,
    metadata,
    cc: [],
    bcc: [],
    reply_to: [],
    attachments: [],
    headers: {},
    stream: 'transactional',
    track_opens: false,
    track_clicks: false,
  }
}

/** As the schema of a single email reads it; undefined where that has to be asked. */
export const plainEmail = (raw: unknown): SendEmail | undefined => {
  const item = plainItem(raw)
  return item && Object.assign(item, { variables: {} })
}
