/** Sends text messages to a message centre over SMPP 3.4. Each process keeps one bind. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Pdu, Smpp } from 'smpp'
import type { Clock } from '../../../platform/ground/clock.ts'
import type { Log } from '../../../platform/ground/log.ts'
import { parseSmppUrl } from '../../../platform/ground/smpp-url.ts'
import { makeSemaphore } from '../../email/semaphore.ts'
import { type Handover, HandoverFault } from '../../handover.ts'
import type { OnInbound, Sms, SmsProvider } from '../sms-provider.ts'
import { faultOfStatus, smppFault, smppName } from './command-status.ts'
import { type Backoff, keepConnection } from './connection.ts'
import { endOfNumber, isReceipt, plainId, readInbound, readReceipt } from './deliver-sm.ts'
import { type LinkTimeouts, NoAnswerFault, openLink, type SmppLink } from './link.ts'
import type { SmppReceipts } from './receipts.ts'
import { maxParts, type SubmitFields, submitFieldsOf } from './submit-fields.ts'

type SmppTimeouts = LinkTimeouts & {
  /** To wait for a connection, and for a place in the window. */
  waitMs: number
  /** A part that is throttled after the first one is not repeated after this time. */
  repeatMs: number
}

/** The longest send takes two waits and two answers after each other, and stays below the timeout of the failover. */
const defaultTimeouts: SmppTimeouts = {
  connectMs: 8_000,
  answerMs: 8_000,
  enquireMs: 30_000,
  waitMs: 3_000,
  repeatMs: 15_000,
}

/** Requests without an answer. */
const windowSize = 100
/** Receipts and inbound messages that are processed at once. */
const maxDelivering = 100

type Needs = {
  url: string
  clock: Clock
  log: Log
  receipts: SmppReceipts
  /** Takes an inbound message. When it rejects, the message centre sends the message again. */
  onInbound?: OnInbound | undefined
  timeouts?: Partial<SmppTimeouts>
  backoff?: Backoff
}

let loaded: Promise<Smpp> | undefined

/** The package with the fields that it does not know. Loaded on first use, because most processes never need it. */
const loadSmpp = (): Promise<Smpp> => {
  loaded ??= import('smpp').then(({ default: smpp }) => {
    // The ids of a registered sender and template in India. Operators there agreed on these tags.
    smpp.addTLV('dlt_entity_id', { id: 0x1400, type: smpp.types.tlv.string })
    smpp.addTLV('dlt_template_id', { id: 0x1401, type: smpp.types.tlv.string })
    return smpp
  })
  return loaded
}

/** Answers `deliver_sm` with a status, after its effects are stored. */
const makeOnDeliver = ({ clock, log, receipts, onInbound }: Needs, smpp: Smpp, delivering: Set<Promise<unknown>>) => {
  const takeReceipt = async (pdu: Pdu): Promise<void> => {
    const receipt = readReceipt(pdu, smpp.encodings.ASCII)
    if (receipt) await receipts.take(receipt)
    else log.warn({ provider: smppName }, 'smpp receipt without a message id')
  }

  const process = async (pdu: Pdu): Promise<number> => {
    if (isReceipt(pdu)) {
      await takeReceipt(pdu)
      return 0
    }
    if (await onInbound?.(readInbound(pdu, clock.now()))) return 0
    log.warn({ provider: smppName }, 'inbound sms rejected')
    // Acknowledging a message that nobody reads would lose it.
    return smpp.errors.ESME_RX_R_APPN as number
  }

  return async (pdu: Pdu): Promise<number> => {
    if (delivering.size >= maxDelivering) return smpp.errors.ESME_RMSGQFUL as number
    const work = process(pdu)
    delivering.add(work)
    try {
      return await work
    } catch (error) {
      log.error({ err: error, provider: smppName }, 'processing an smpp delivery failed')
      // The message centre sends it again later.
      return smpp.errors.ESME_RX_T_APPN as number
    } finally {
      delivering.delete(work)
    }
  }
}

export const makeSmppProvider = (needs: Needs): SmsProvider => {
  const { log, receipts, backoff = { firstMs: 1_000, maxMs: 60_000 } } = needs
  const timeouts = { ...defaultTimeouts, ...needs.timeouts }
  const centre = parseSmppUrl(needs.url)
  // The URL contains a password, so the message does not quote it.
  if (!centre) throw new Error('SMPP_URL is not valid')
  const slots = makeSemaphore(windowSize, timeouts.waitMs)
  const inFlight = new Set<Promise<unknown>>()
  const delivering = new Set<Promise<unknown>>()
  // Consecutive messages get different references. Several processes start at different ones.
  let reference = Math.floor(Math.random() * 256)
  let closing = false

  const connection = keepConnection({
    log,
    backoff,
    waitMs: timeouts.waitMs,
    open: async () => {
      const smpp = await loadSmpp()
      const onDeliver = makeOnDeliver(needs, smpp, delivering)
      return openLink({ smpp, centre, timeouts, onDeliver, maxMissing: windowSize })
    },
  })

  const submitOne = async (link: SmppLink, fields: SubmitFields, accepted: (id: string) => void): Promise<void> => {
    const { errors } = await loadSmpp()
    if (!(await slots.acquire())) throw smppFault('throttled')
    try {
      const answer = await link.submit(fields, (late) => {
        if (late.command_status === 0) accepted(late.message_id ?? '')
      })
      if (answer.command_status !== 0) throw faultOfStatus(errors, answer.command_status)
      accepted(answer.message_id ?? '')
    } catch (error) {
      if (error instanceof NoAnswerFault) throw smppFault(error.sent ? 'uncertain' : 'unavailable', error)
      throw error
    } finally {
      slots.release()
    }
  }

  /** The parts after an accepted one are repeated here, because a repeat of the message would send that one twice. */
  const submitRest = async (link: SmppLink, fields: SubmitFields, accepted: (id: string) => void): Promise<void> => {
    const began = performance.now()
    for (let wait = 250; ; wait *= 2) {
      try {
        return await submitOne(link, fields, accepted)
      } catch (error) {
        const repeats = error instanceof HandoverFault && error.kind === 'throttled'
        if (!repeats || performance.now() - began + wait > timeouts.repeatMs) throw error
        await pause(wait)
      }
    }
  }

  const faultOfRest = (results: PromiseSettledResult<void>[]): HandoverFault | undefined => {
    const faults = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as HandoverFault] : []))
    const refused = faults.find(({ kind }) => kind === 'refused')
    return refused ?? (faults[0] && smppFault('uncertain', faults[0]))
  }

  const handOver = async (sms: Sms): Promise<Handover> => {
    if (sms.mediaUrl.length > 0) throw new HandoverFault('refused', smppName, 'SMPP cannot send media messages.')
    reference = (reference + 1) & 0xff
    const [first, ...rest] = submitFieldsOf(sms, reference) as [SubmitFields, ...SubmitFields[]]
    const parts = rest.length + 1
    if (parts > maxParts) throw new HandoverFault('refused', smppName, `The text has more than ${maxParts} parts.`)
    const link = closing ? undefined : await connection.link()
    if (!link) throw smppFault('unavailable', { code: 'not_bound' })

    const { orgId, messageId } = sms
    const recipientEnd = endOfNumber(sms.to)
    const stored: Promise<void>[] = []
    const ids: string[] = []
    /** Called for late answers too: their receipts then settle what happened to the message. */
    const accepted = (part: number) => (id: string) => {
      const plain = plainId(id)
      if (plain === '') return
      ids[part - 1] = plain
      stored.push(receipts.remember({ providerMessageId: plain, orgId, messageId, part, parts, recipientEnd }))
    }
    try {
      await submitOne(link, first, accepted(1))
      const results = await Promise.allSettled(rest.map((fields, i) => submitRest(link, fields, accepted(i + 2))))
      const fault = faultOfRest(results)
      if (fault) throw fault
    } finally {
      await Promise.all(stored)
    }
    return { provider: smppName, providerMessageId: ids[0] ?? messageId }
  }

  return {
    name: smppName,
    accepts: ({ mediaUrl }) => mediaUrl.length === 0,
    send: async (sms) => {
      const work = handOver(sms)
      inFlight.add(work)
      try {
        return await work
      } finally {
        inFlight.delete(work)
      }
    },
    close: async () => {
      closing = true
      await Promise.allSettled(inFlight)
      await Promise.allSettled(delivering)
      await connection.close()
      await receipts.close()
    },
  }
}
