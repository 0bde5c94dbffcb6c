import type { Db } from '../../platform/db/pool.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import { startSlices } from '../../platform/ground/event-loop-turns.ts'
import { composeMime } from '../email/compose-mime.ts'
import { fromStored, type StoredMail } from '../email/stored-mail.ts'
import { jsonText, type NewOutboxEntry, type Outbox } from './local-outbox.ts'
import { listOutbox, type OutboxRow } from './store.ts'

/** A message that a local provider accepted. Fields that its channel does not have are null or empty. */
export type OutboxEntry = {
  id: string
  channel: Channel
  message_id: string | null
  verification_id: string | null
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  subject: string | null
  html: string | null
  text: string | null
  headers: Record<string, string>
  /** The RFC 5322 message. */
  raw: string | null
  body: string | null
  media_url: string[]
  dlt: unknown
  at: string
}

export type OutboxQuery = {
  channel?: Channel | undefined
  to?: string | undefined
  id?: string | undefined
  messageId?: string | undefined
  limit: number
}

const addresses = (list: { address: string }[]): string[] => list.map(({ address }) => address)

/** Composes the raw message on read, because most stored messages are never read. */
const emailFields = async (stored: StoredMail) => {
  const mail = fromStored(stored)
  const { name, address } = mail.from
  return {
    from: name ? `${name} <${address}>` : address,
    to: addresses(mail.to),
    cc: addresses(mail.cc),
    bcc: addresses(mail.bcc),
    subject: mail.subject,
    html: mail.html,
    text: mail.text,
    headers: mail.headers,
    raw: (await composeMime(mail)).toString('utf8'),
    body: null,
    media_url: [],
    dlt: null,
  }
}

const smsFields = (stored: Record<string, unknown>) => ({
  from: String(stored.from ?? ''),
  to: (stored.recipients ?? []) as string[],
  cc: [],
  bcc: [],
  subject: null,
  html: null,
  text: null,
  headers: {},
  raw: null,
  body: (stored.body ?? null) as string | null,
  media_url: (stored.media_url ?? []) as string[],
  dlt: stored.dlt ?? null,
})

const entryOf = async (row: OutboxRow): Promise<OutboxEntry> => {
  const { id, channel, message_id, verification_id, mail, at } = row
  const fields = channel === 'email' ? await emailFields(mail as unknown as StoredMail) : smsFields(mail)
  return { id, channel, message_id, verification_id, ...fields, at: at.toISOString() }
}

const rowOfCode = ({ id, channel, messageId, verificationId, mail, at }: NewOutboxEntry): OutboxRow => ({
  id,
  channel,
  message_id: messageId,
  verification_id: verificationId,
  // As it would be read from the database.
  mail: JSON.parse(jsonText(mail)),
  at,
})

/** Messages of so many bytes are returned at most, or one larger message. The response is about three times as large. */
const maxBytes = 4_194_304

/** Newest first. Of other processes, only those of the same primary have their codes included. */
export type ReadOutbox = (query: OutboxQuery) => Promise<OutboxEntry[]>

type Needs = {
  db: Db
  outbox: Pick<Outbox, 'flushed' | 'codes'>
  /** The codes in the memory of other processes, as `codeTexts` wrote them. */
  otherCodes?: (() => Promise<string[]>) | undefined
}

/** Codes as they are sent to another process. They are never stored. */
export const codeTexts = async (outbox: Pick<Outbox, 'flushed' | 'codes'>): Promise<string[]> => {
  // The other process reads stored entries after this.
  await outbox.flushed()
  return outbox.codes().map(jsonText)
}

const codeOfText = (text: string): NewOutboxEntry => {
  const entry = JSON.parse(text)
  return { ...entry, at: new Date(entry.at) }
}

export const makeReadOutbox =
  ({ db, outbox, otherCodes }: Needs): ReadOutbox =>
  async ({ channel, to, id, messageId, limit }) => {
    const recipient = to?.toLowerCase()
    const others = (await otherCodes?.()) ?? []
    const codes = [...outbox.codes(), ...others.map(codeOfText)]
      .filter((entry) => channel === undefined || entry.channel === channel)
      .filter(({ mail }) => recipient === undefined || mail.recipients.includes(recipient))
      .filter((entry) => (id === undefined || entry.id === id) && messageId === undefined)
      .map(rowOfCode)
    await outbox.flushed()
    const filters = { channel: channel ?? null, to: recipient ?? null, id: id ?? null, messageId: messageId ?? null }
    const stored = await db.rows(listOutbox, { ...filters, limit, bytes: maxBytes })
    const newestFirst = [...stored, ...codes].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit)
    const slices = startSlices()
    const entries: OutboxEntry[] = []
    for (const row of newestFirst) {
      entries.push(await entryOf(row))
      if (slices.over()) await slices.next()
    }
    return entries
  }
