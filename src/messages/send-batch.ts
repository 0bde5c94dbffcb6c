/**
 * Sends many messages in one call. Usage is reserved once for the whole batch. Each item then passes the same pipeline
 * as a single send.
 */

import type { Actor, Audit } from '../audit/append.ts'
import { logFailedWrite } from '../audit/log-failed-write.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { type Code, catalogue, Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { MaybePromise } from '../ground/maybe-promise.ts'
import type { Handover, HandoverError } from '../providers/handover.ts'
import { partOf } from '../usage/lines.ts'
import type { Reservation, Usage } from '../usage/reserve.ts'
import type { AdmitDraft } from './admit-draft.ts'
import type { ChannelAdapter, Price } from './channel-adapter.ts'
import { type Draft, passGates } from './draft.ts'
import type { BeginHandOver, HandOver } from './hand-over.ts'
import type { RecordMessage } from './record.ts'
import { asHandoverError, failedRow, sentRow } from './rows.ts'
import { type ApplyReports, notRecorded, recipientRefusal, releasesUsage, sentEntry, spendBy } from './sent-message.ts'
import type { SuppressRefused } from './suppress-refused.ts'

export type ItemError = { code: string; message: string }
export type ItemResult = {
  index: number
  id: string | null
  status: 'sent' | 'failed'
  error: ItemError | null
}
export type BatchResult = { data: ItemResult[]; total: number; succeeded: number; failed: number }

/** A draft, or the failure that prevented one. */
export type Item<D extends Draft> = D | Failure

/** `itemsOf` runs within the time limit of the call, because it may have to fetch attachments. */
export type SendBatch<D extends Draft> = (itemsOf: () => MaybePromise<Item<D>[]>, actor: Actor) => Promise<BatchResult>

/** Measured from the start of the call. Items that have not started by then are not sent. */
const timeLimitMs = 300_000

/** Batch items report a more general code than single sends for these failures. */
const itemCode: Partial<{ [C in Code]: Code }> = {
  INVALID_FROM: 'VALIDATION_ERROR',
  SENDER_DOMAIN_NOT_VERIFIED: 'SENDER_NOT_VERIFIED',
  ALL_SUPPRESSED: 'SUPPRESSED',
  TO_ALL_SUPPRESSED: 'SUPPRESSED',
  SENDER_NOT_REGISTERED: 'SENDER_NOT_VERIFIED',
  DLT_TEMPLATE_NOT_FOUND: 'DLT_TEMPLATE_NOT_APPROVED',
  DLT_TEMPLATE_NOT_PROVISIONED: 'DLT_TEMPLATE_NOT_APPROVED',
}

const errorOf = (failure: Failure): ItemError => {
  const code = itemCode[failure.code] ?? failure.code
  const [first] = failure.detail.errors ?? []
  if (first) {
    const where = first.path.length > 0 ? `${first.path.join('.')}: ` : ''
    return { code, message: `${where}${first.message}` }
  }
  // The catalogue's text of VALIDATION_ERROR refers to a list of errors, which items do not have.
  const keepsMessage = code === failure.code || code === 'VALIDATION_ERROR'
  return { code, message: keepsMessage ? failure.message : catalogue[code].text }
}

const failedItem = (index: number, error: ItemError, id: string | null = null): ItemResult => ({
  index,
  id,
  status: 'failed',
  error,
})

const closingFailed = 'usage reservation not closed'

const notRecordedItem: ItemError = { code: 'MESSAGE_NOT_RECORDED', message: notRecorded }

const providerError = (message: string): ItemError => ({ code: 'PROVIDER_ERROR', message })

const itemErrorOf = (fault: HandoverError): ItemError => {
  const refusal = recipientRefusal(fault)
  return providerError(refusal ? `${refusal}: ${fault.message}` : fault.message)
}

type Needs<D extends Draft> = {
  channel: ChannelAdapter<D>
  admit: AdmitDraft<D>
  beginHandOver: BeginHandOver<D>
  usage: Usage
  record: RecordMessage
  audit: Audit
  db: Db
  clock: Clock
  log: Log
  applyReports: ApplyReports
  suppressRefused: SuppressRefused
  /** How many items are sent at the same time. */
  concurrency: number
}

/** The part of a price that the batch reserves for all items together. */
const batchPart = ({ units, segments, costMicros }: Price): Price => ({ units, segments, costMicros })

const sumOf = (prices: Price[]): Price =>
  prices.reduce((sum, price) => ({
    units: sum.units + price.units,
    segments: (sum.segments ?? 0) + (price.segments ?? 0),
    costMicros: (sum.costMicros ?? 0) + (price.costMicros ?? 0),
  }))

const differenceOf = (reserved: Price, used: Price): Price => ({
  units: reserved.units - used.units,
  segments: (reserved.segments ?? 0) - (used.segments ?? 0),
  costMicros: (reserved.costMicros ?? 0) - (used.costMicros ?? 0),
})

/** A draft, its position in the call, the batch's reservation and this item's part of it. */
type ReservedItem<D extends Draft> = { index: number; draft: D; reserved: Price; batchReservation: Reservation }

export const makeSendBatch = <D extends Draft>(needs: Needs<D>): SendBatch<D> => {
  const { channel, admit, beginHandOver, usage, record, audit, db, clock, log, applyReports, concurrency } = needs

  /** Releases usage that the item does not need. `left` is what it still uses. */
  const release = ({ draft, batchReservation }: ReservedItem<D>, part: Price, left?: Price): Promise<void> => {
    const spendOf = (price: Price) => ({ ...spendBy(draft), ...price })
    return logFailure(draft, usage.releasePart(batchReservation, draft.id, spendOf(part), left && spendOf(left)))
  }

  const logFailure = (draft: D, releasing: Promise<void>): Promise<void> =>
    releasing.then(
      () => undefined,
      (error) => log.error({ err: error, message_id: draft.id }, 'usage release failed'),
    )

  /** Runs every step before the provider. An item that fails here is neither counted nor stored. */
  const admitItem = async (item: ReservedItem<D>): Promise<{ used: Price; itemReservation: Reservation }> => {
    const { draft, reserved } = item
    try {
      await passGates(channel.gates, draft, 'batch')
      const { price, reservation: itemReservation } = await admit.reserve(draft, 'batch', {
        spendOf: ({ sandbox, warmup }) => ({ ...spendBy(draft), units: 0, sandbox, warmup }),
        keep: { id: draft.id },
      })
      const used = batchPart(price)
      if (used.units < reserved.units) await release(item, differenceOf(reserved, used), used)
      return { used, itemReservation }
    } catch (error) {
      await release(item, reserved)
      throw error
    }
  }

  const recordFailed = async ({ index, draft }: ReservedItem<D>, fault: HandoverError): Promise<ItemResult> => {
    const at = clock.now()
    const event = { at, more: { error: fault.message } }
    try {
      await record({ message: failedRow(draft, channel.contentOf(draft), fault, at), event })
      return failedItem(index, itemErrorOf(fault), draft.id)
    } catch (error) {
      log.error({ err: error, message_id: draft.id }, 'failed message not recorded')
      return failedItem(index, itemErrorOf(fault))
    }
  }

  const recordSent = async ({ index, draft }: ReservedItem<D>, handover: Handover): Promise<ItemResult> => {
    const at = clock.now()
    try {
      await record({ message: sentRow(draft, channel.contentOf(draft), handover, at), event: { at } })
    } catch (error) {
      log.error({ err: error, message_id: draft.id }, 'sent message not recorded')
      return { index, id: null, status: 'sent', error: notRecordedItem }
    }
    if (handover.reports) applyReports(draft.by.orgId, draft.id, handover.reports)
    return { index, id: draft.id, status: 'sent', error: null }
  }

  const runItem = async (item: ReservedItem<D>, handOver: HandOver<D>): Promise<ItemResult> => {
    const { index, draft } = item
    let admitted: Awaited<ReturnType<typeof admitItem>>
    try {
      admitted = await admitItem(item)
    } catch (error) {
      if (error instanceof Failure) return failedItem(index, errorOf(error))
      log.error({ err: error, message_id: draft.id }, 'batch item check failed')
      return failedItem(index, providerError('Not sent. It is safe to try again.'))
    }
    const releaseAll = () =>
      Promise.all([release(item, admitted.used), logFailure(draft, usage.release(admitted.itemReservation))])
    let handover: Handover
    try {
      handover = await handOver(draft)
    } catch (error) {
      if (error instanceof Failure) {
        await releaseAll()
        return failedItem(index, errorOf(error))
      }
      const fault = asHandoverError(error)
      await needs.suppressRefused(draft, fault)
      log.warn({ err: fault, message_id: draft.id, kind: fault.kind }, 'message handover failed')
      if (releasesUsage(fault)) await releaseAll()
      return recordFailed(item, fault)
    }
    return recordSent(item, handover)
  }

  /** Reserves usage for all valid items at once, before the first one is sent. */
  const reserveAll = async (items: Item<D>[]): Promise<ReservedItem<D>[]> => {
    const drafts = items.flatMap((item, index) => (item instanceof Failure ? [] : [{ index, draft: item }]))
    const [first] = drafts
    if (!first) return []
    const prices = await Promise.all(drafts.map(async ({ draft }) => batchPart(await channel.priceOf(draft))))
    const parts = Object.fromEntries(
      drafts.map(({ draft }, i) => [draft.id, partOf({ ...spendBy(draft), ...(prices[i] as Price) })]),
    )
    const batchReservation = await usage.reserve(
      { ...spendBy(first.draft), ...sumOf(prices) },
      { id: newId('request', clock.millis()), parts },
    )
    return drafts.map(({ index, draft }, i) => ({ index, draft, batchReservation, reserved: prices[i] as Price }))
  }

  const runAll = async (items: ReservedItem<D>[], until: number): Promise<ItemResult[]> => {
    const results: ItemResult[] = []
    const handOver = beginHandOver(until)
    const next = items.values()
    const runNext = async (): Promise<void> => {
      for (const item of next) {
        if (clock.millis() < until) results.push(await runItem(item, handOver))
        else {
          await release(item, item.reserved)
          const message = 'Not sent: the batch reached its time limit. It is safe to try again.'
          results.push(failedItem(item.index, providerError(message)))
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, runNext))
    return results
  }

  return async (itemsOf, actor) => {
    const until = clock.millis() + timeLimitMs
    const items = await itemsOf()
    const reservedItems = await reserveAll(items)
    const results = await runAll(reservedItems, until)
    const [first] = reservedItems
    const closing = first && usage.close(first.batchReservation).catch((err) => log.error({ err }, closingFailed))
    const invalid = items.flatMap((item, index) => (item instanceof Failure ? [failedItem(index, errorOf(item))] : []))
    const data = [...results, ...invalid].sort((a, b) => a.index - b.index)
    const succeeded = data.filter(({ status }) => status === 'sent').length
    if (first && succeeded > 0) {
      const entry = sentEntry(first.draft, actor, null, succeeded)
      await db.tx((tx) => audit(tx, entry)).catch((error) => logFailedWrite(log, error, [entry]))
    }
    await closing
    return { data, total: data.length, succeeded, failed: data.length - succeeded }
  }
}
