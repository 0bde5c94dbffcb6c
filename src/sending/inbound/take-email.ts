/** Receives email at inbound domains: stores it and writes its event. */
import type { AppendEvents } from '../../journal/events/append-events.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { sha256Hex } from '../../platform/ground/crypto.ts'
import { isId, newId, timeOfId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { comparableAddress, domainPart } from '../../platform/ground/mailbox.ts'
import { storableText } from '../../platform/ground/storable-text.ts'
import { findPriorEmail } from '../messages/store/prior-send.ts'
import { attachmentPath } from './attachment-path.ts'
import { tenantOf } from './inbound-tenant.ts'
import {
  findInboundDomains,
  type InboundDomain,
  insertAttachment,
  insertInbound,
  listedCharacters,
  type ReceivedFile,
  type StoredFile,
} from './store/inbound-rows.ts'

type ReceivedAttachment = ReceivedFile & {
  /** Without brackets. */
  content_id: string | null
  content: Uint8Array<ArrayBuffer>
}

export type ReceivedEmail = {
  provider: string
  /** The addresses that the email was delivered to. Their domains decide who receives it. */
  recipients: readonly string[]
  from: string
  to: readonly string[]
  cc: readonly string[]
  subject: string | null
  text: string | null
  html: string | null
  messageId: string | null
  inReplyTo: string | null
  /** The Date header. */
  date: string | null
  attachments: readonly ReceivedAttachment[]
  /** What the provider's spam filter says. Null without one. */
  spamVerdict: string | null
  at: Date
}

/** Stores the email once for each org with an inbound domain among its recipients. Returns the ids of new rows. */
export type TakeEmail = (email: ReceivedEmail) => Promise<string[] | 'unknown domain'>

const most = {
  addresses: 100,
  attachments: 100,
  address: 320,
  subject: 2_000,
  id: 1_000,
  filename: 255,
  contentId: 255,
}

const bounded = (text: string, length: number): string => storableText(text.slice(0, length))
const boundedOrNull = (text: string | null, length = Number.POSITIVE_INFINITY): string | null =>
  text === null ? null : bounded(text, length)

/** Part of a longer one names nothing. */
const contentIdOf = (text: string | null): string | null =>
  text === null || text.length > most.contentId ? null : storableText(text)

const addressOf = (text: string): string => comparableAddress(text) ?? bounded(text.toLowerCase(), most.address)
const addressesOf = (texts: readonly string[]): string[] => [
  ...new Set(
    texts
      .slice(0, most.addresses)
      .map(addressOf)
      .filter((address) => address !== ''),
  ),
]

/** An address that is in no header got a blind copy. It is added, because nothing else would show it. */
const normalized = (email: ReceivedEmail): ReceivedEmail => {
  const [to, cc] = [addressesOf(email.to), addressesOf(email.cc)]
  const blind = addressesOf(email.recipients).filter((address) => !to.includes(address) && !cc.includes(address))
  return {
    ...email,
    recipients: addressesOf(email.recipients),
    from: addressOf(email.from),
    to: [...to, ...blind],
    cc,
    subject: boundedOrNull(email.subject, most.subject),
    text: boundedOrNull(email.text),
    html: boundedOrNull(email.html),
    messageId: boundedOrNull(email.messageId, most.id),
    inReplyTo: boundedOrNull(email.inReplyTo, most.id),
    attachments: email.attachments
      .slice(0, most.attachments)
      .map(({ filename, content_type, content_id, ...file }) => ({
        filename: boundedOrNull(filename, most.filename),
        content_type: bounded(content_type, most.filename),
        content_id: contentIdOf(content_id),
        ...file,
      })),
  }
}

/** The content is not part of the row, the event or the id: it can be megabytes. */
const filesOf = ({ attachments }: ReceivedEmail): ReceivedFile[] =>
  attachments.map(({ filename, content_type, size }) => ({ filename, content_type, size }))

/** The previous release shows everything that is stored here, so most rows stay as they were. */
const storedFilesOf = ({ attachments }: ReceivedEmail): StoredFile[] =>
  attachments.map(({ content, content_id, ...file }) => (content_id === null ? file : { ...file, content_id }))

/**
 * The same for every delivery of one email, also when a server delivers it to each recipient separately. Null for an
 * email without a Message-ID and a date: another one with the same content may be a new one.
 */
const idOf = (orgId: string, email: ReceivedEmail): string | null => {
  const { messageId, date, inReplyTo, from, to, cc, subject, text, html } = email
  if (messageId === null && date === null) return null
  const parts = [orgId, messageId, date, inReplyTo, from, to, cc, subject, text, html, filesOf(email)]
  return sha256Hex(JSON.stringify(parts))
}

/** The message that an In-Reply-To header names, if it is one of ours. */
const answered = (inReplyTo: string | null): string | undefined => {
  const id = /<?([a-z]{3}_[0-9a-z]{26})@/.exec(inReplyTo ?? '')?.[1]
  return id !== undefined && isId('message', id) ? id : undefined
}

/** A view, not a copy. */
const bytesOf = ({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

const cut = (text: string | null): string | null => text?.slice(0, listedCharacters).toWellFormed() ?? null

type Needs = { db: Db; clock: Clock; log: Log; appendEvents: AppendEvents }

export const makeTakeEmail = ({ db, clock, log, appendEvents }: Needs): TakeEmail => {
  const domainsOf = async (recipients: readonly string[]): Promise<InboundDomain[]> => {
    const names = [...new Set(recipients.map((address) => domainPart(address)))]
    const byOrg = new Map<string, InboundDomain>()
    for (const domain of await db.rows(findInboundDomains, { names })) {
      if (!byOrg.has(domain.org_id)) byOrg.set(domain.org_id, domain)
    }
    return [...byOrg.values()]
  }

  const priorOf = async (orgId: string, { inReplyTo, from }: ReceivedEmail) => {
    const id = answered(inReplyTo)
    if (id === undefined) return undefined
    return db.row(findPriorEmail, { orgId, id, createdAt: new Date(timeOfId(id)), recipient: from })
  }

  const announcementOf = (id: string, email: ReceivedEmail) => ({
    id,
    status: 'received',
    from: email.from,
    to: email.to,
    cc: email.cc,
    subject: email.subject,
    text: cut(email.text),
    html: cut(email.html),
    message_id: email.messageId,
    in_reply_to: email.inReplyTo,
    attachments: filesOf(email).map((file, position) => ({ ...file, url: attachmentPath(id, position) })),
    spam_verdict: email.spamVerdict,
    received_at: email.at.toISOString(),
  })

  const store = async ({ org_id: orgId, tenant_id }: InboundDomain, email: ReceivedEmail): Promise<string[]> => {
    const prior = await priorOf(orgId, email)
    return db.tx(async (tx) => {
      const tenantId = await tenantOf(tx, orgId, prior ? [prior.tenant_id, tenant_id] : [tenant_id])
      const now = clock.now()
      const id = newId('inboundEmail', now.getTime())
      const stored = await tx.row(insertInbound, {
        orgId,
        id,
        channel: 'email',
        tenantId,
        fromAddress: email.from,
        toAddresses: [...email.to],
        subject: email.subject,
        text: email.text,
        html: email.html,
        mediaUrl: null,
        attachments: JSON.stringify(storedFilesOf(email)),
        kind: 'reply',
        keyword: null,
        inReplyTo: email.inReplyTo,
        receivedAt: email.at,
        createdAt: now,
        provider: 'inbound email',
        providerId: idOf(orgId, email),
      })
      if (!stored) return []
      for (const [position, { content }] of email.attachments.entries()) {
        await tx.change(insertAttachment, { orgId, inboundId: id, position, content: bytesOf(content) })
      }
      const data = announcementOf(id, email)
      await appendEvents(tx, { orgId, tenantId, environment: 'live', event: 'inbound.email', data })
      return [id]
    })
  }

  return async (received) => {
    const email = normalized(received)
    const domains = await domainsOf(email.recipients)
    if (domains.length === 0) {
      log.warn({ provider: email.provider }, 'inbound email to an unknown domain')
      return 'unknown domain'
    }
    const ids: string[] = []
    // One after the other: they are few, and a failure leaves the rest to the next delivery.
    for (const domain of domains) ids.push(...(await store(domain, email)))
    if (ids.length > 0) log.info({ provider: email.provider, inbound_ids: ids }, 'inbound email received')
    return ids
  }
}
