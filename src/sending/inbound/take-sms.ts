/** Receives text messages from phones: stores them, suppresses those who opt out, and writes the events. */
import type { AppendEvents } from '../../journal/events/append-events.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { toE164 } from '../../platform/ground/phone-number.ts'
import { storableText } from '../../platform/ground/storable-text.ts'
import type { InboundSms } from '../../providers/sms/sms-provider.ts'
import type { Suppress } from '../../recipients/suppressions/suppress.ts'
import { recipientMark } from '../messages/marks.ts'
import type { SharedHandovers } from '../messages/sms/shared-handovers.ts'
import { findPriorSms, type PriorSend } from '../messages/store/prior-send.ts'
import { tenantOf } from './inbound-tenant.ts'
import { type Meaning, meaningOf } from './keywords.ts'
import {
  findPoolOfNumber,
  findReceivingNumbers,
  insertInbound,
  listedCharacters,
  type ReceivingNumber,
} from './store/inbound-rows.ts'

export type TakenSms =
  | ({ status: 'stored'; id: string } & Meaning)
  | { status: 'repeated' }
  | { status: 'unknown number' }

/** Resolves when everything is stored. After an opt-out, no message to the number is handed over from then on. */
export type TakeSms = (message: InboundSms) => Promise<TakenSms>

type Received = InboundSms & { number: ReceivingNumber; prior: PriorSend | undefined; meaning: Meaning }

const ordinary: Meaning = { kind: 'reply', keyword: null }

type Needs = {
  db: Db
  clock: Clock
  log: Log
  suppress: Suppress
  appendEvents: AppendEvents
  handovers: Pick<SharedHandovers, 'settled'>
}

export const makeTakeSms = ({ db, clock, log, suppress, appendEvents, handovers }: Needs): TakeSms => {
  const priorOf = ({ org_id: orgId, e164, iso_country }: ReceivingNumber, from: string) => {
    const recipient = toE164(from, iso_country)
    return db.row(findPriorSms, { orgId, recipient, recipientMark: recipientMark(orgId, recipient), from: e164 })
  }

  /** The number that received the message. If several orgs have it, the one that wrote last is answered. */
  const receiverOf = async ({ from, to }: InboundSms): Promise<Pick<Received, 'number' | 'prior'> | undefined> => {
    const numbers = await db.rows(findReceivingNumbers, { numbers: [to, `+${to}`] })
    let best: Pick<Received, 'number' | 'prior'> | undefined
    for (const number of numbers) {
      const prior = await priorOf(number, from)
      if (!best || (prior && (!best.prior || prior.sent_at > best.prior.sent_at))) best = { number, prior }
    }
    return best
  }

  const optOut = async (tx: Tx, id: string, tenantId: string | null, { number, prior, from }: Received) => {
    const cause = { channel: 'sms', value: from, reason: 'stop', source: 'sms_reply' } as const
    const owner = { orgId: number.org_id, tenantId, environment: 'live' } as const
    const suppressed = await suppress(tx, { ...cause, ...owner, messageId: prior?.id ?? null })
    if (!suppressed.changed) return
    await appendEvents(tx, {
      ...owner,
      event: 'suppression.created',
      data: { id: suppressed.id, ...cause, inbound_sms_id: id, created_at: suppressed.createdAt.toISOString() },
    })
  }

  const announce = async (tx: Tx, id: string, tenantId: string | null, received: Received): Promise<void> => {
    const { number, prior, from, body, mediaUrl, at } = received
    const orgId = number.org_id
    const pool = await tx.row(findPoolOfNumber, { orgId, numberId: number.id, preferred: prior?.from_pool ?? null })
    await appendEvents(tx, {
      orgId,
      tenantId,
      environment: 'live',
      event: 'inbound.sms',
      data: {
        id,
        status: 'received',
        from,
        to: number.e164,
        body: body.slice(0, listedCharacters).toWellFormed(),
        media_url: mediaUrl,
        pool: pool?.slug ?? null,
        in_reply_to_message_id: prior?.id ?? null,
        received_at: at.toISOString(),
      },
    })
  }

  /** Undefined when the message was stored before. */
  const store = (received: Received): Promise<string | undefined> =>
    db.tx(async (tx) => {
      const { number, prior, from, body, mediaUrl, meaning, provider } = received
      const orgId = number.org_id
      const tenantId = await tenantOf(tx, orgId, prior ? [prior.tenant_id, number.tenant_id] : [number.tenant_id])
      const now = clock.now()
      const id = newId('inboundSms', now.getTime())
      const stored = await tx.row(insertInbound, {
        orgId,
        id,
        channel: 'sms',
        tenantId,
        fromAddress: from,
        toAddresses: [number.e164],
        subject: null,
        text: body,
        html: null,
        mediaUrl: [...mediaUrl],
        attachments: null,
        ...meaning,
        inReplyTo: prior?.id ?? null,
        receivedAt: received.at,
        createdAt: now,
        provider: `inbound ${provider}`,
        providerId: received.id,
      })
      if (!stored) return undefined
      if (meaning.kind === 'opt_out') await optOut(tx, id, tenantId, received)
      if (meaning.kind === 'reply') await announce(tx, id, tenantId, received)
      return id
    })

  return async (message) => {
    const receiver = await receiverOf(message)
    if (!receiver) {
      log.warn({ provider: message.provider }, 'inbound sms to an unknown number')
      return { status: 'unknown number' }
    }
    const body = storableText(message.body)
    const from = storableText(toE164(message.from, receiver.number.iso_country))
    const meaning = message.isContinuation ? ordinary : meaningOf(body)
    const mediaUrl = message.mediaUrl.map(storableText)
    const id = await store({ ...message, ...receiver, from, body, mediaUrl, meaning })
    const orgId = receiver.number.org_id
    if (meaning.kind === 'opt_out') await handovers.settled(orgId, from)
    if (id === undefined) return { status: 'repeated' }
    log.info({ org_id: orgId, inbound_id: id, ...meaning }, 'inbound sms received')
    return { status: 'stored', id, ...meaning }
  }
}
