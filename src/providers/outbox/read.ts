import type { Db } from '../../db/pool.ts'
import type { Channel } from '../../ground/channel.ts'
import { composeMime } from '../email/compose-mime.ts'
import { type KeptMail, mailFrom } from '../email/kept-mail.ts'
import { listKept, type OutboxRow } from './store.ts'

/** One thing a local provider was handed. What a channel does not have is null or empty. */
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

export type OutboxQuery = { channel?: Channel; to?: string; limit: number }

const addresses = (parties: { address: string }[]): string[] => parties.map(({ address }) => address)

/** Written out only now: most of what is kept is never looked at. */
const shownEmail = async (kept: KeptMail) => {
  const mail = mailFrom(kept)
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

const shownSms = (kept: Record<string, unknown>) => ({
  from: String(kept.from ?? ''),
  to: (kept.recipients ?? []) as string[],
  cc: [],
  bcc: [],
  subject: null,
  html: null,
  text: null,
  headers: {},
  raw: null,
  body: (kept.body ?? null) as string | null,
  media_url: (kept.media_url ?? []) as string[],
  dlt: kept.dlt ?? null,
})

const shown = async (row: OutboxRow): Promise<OutboxEntry> => {
  const { id, channel, message_id, verification_id, mail, at } = row
  const content = channel === 'email' ? await shownEmail(mail as unknown as KeptMail) : shownSms(mail)
  return { id, channel, message_id, verification_id, ...content, at: at.toISOString() }
}

/** Newest first. */
export type ReadOutbox = (query: OutboxQuery) => Promise<OutboxEntry[]>

export const makeReadOutbox =
  ({ db }: { db: Db }): ReadOutbox =>
  async ({ channel, to, limit }) => {
    const rows = await db.rows(listKept, { channel: channel ?? null, to: to?.toLowerCase() ?? null, limit })
    const entries: OutboxEntry[] = []
    for (const row of rows) entries.push(await shown(row))
    return entries
  }
