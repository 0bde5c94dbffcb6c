/**
 * Sends many messages in one call. Usage is reserved once for the whole batch. Each item then passes the same pipeline
 * as a single send.
 */
import { partOf } from '../../customers/usage/lines.ts'
import type { Reservation } from '../../customers/usage/reserve.ts'
import type { Actor } from '../../journal/audit/append.ts'
import { retryOnOutage } from '../../platform/db/outage.ts'
import { type Code, catalogue, Failure } from '../../platform/ground/errors.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import { claimedId, type IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import type { Handover, HandoverFault } from '../../providers/handover.ts'
import { type BatchChunks, startChunks } from './batch-chunks.ts'
import type { Price } from './channel-adapter.ts'
import { type Draft, passGates } from './draft.ts'
import type { HandOver } from './hand-over.ts'
import type { RecordChunk } from './record.ts'
import { asHandoverFault, failedRow, sentRow } from './rows.ts'
import type { SendNeeds } from './send.ts'
import { notRecorded, recipientRefusal, releasesUsage, sentEntry, spendBy } from './sent-message.ts'
import type { BatchResult } from './shapes.ts'
import type { RecordedRow } from './store/message-outcomes.ts'

type ItemResult = BatchResult['data'][number]
type ItemError = NonNullable<ItemResult['error']>

/** A draft, or the failure that prevented one. */
export type Item<D extends Draft> = D | Failure

/**
 * `itemsOf` runs within the time limit of the call, because it may have to fetch attachments. With an idempotency claim,
 * the ids of the drafts are derived from it. `recorded` is set if the response was stored together with the messages.
 */
export type SendBatch<D extends Draft> = (
  itemsOf: () => MaybePromise<Item<D>[]>,
  actor: Actor,
  claim: IdempotencyClaim | undefined,
) => Promise<{ body: BatchResult; recorded?: true }>

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

const failedItem = (index: number, error: ItemError, id: string | null = null): ItemResult => {
  return { index, id, status: 'failed', error }
}

const sentItem = (index: number, id: string | null, error: ItemError | null = null): ItemResult => {
  return { index, id, status: 'sent', error }
}

const notRecordedItem: ItemError = { code: 'MESSAGE_NOT_RECORDED', message: notRecorded }

const providerError = (message: string): ItemError => ({ code: 'PROVIDER_ERROR', message })

const itemErrorOf = (fault: HandoverFault): ItemError => {
  const refusal = recipientRefusal(fault)
  return providerError(refusal ? `${refusal}: ${fault.message}` : fault.message)
}

/** An item of an interrupted batch may have been sent before the interruption, whatever happens to it now. */
const notSent = ({ mayRepeat }: Draft, reason = 'Not sent'): ItemError =>
  providerError(
    mayRepeat
      ? `${reason}, but an earlier attempt was interrupted and may have sent it.`
      : `${reason}. It is safe to try again.`,
  )

/** The result of an item that an earlier, interrupted attempt stored. */
const recordedItem = (index: number, { id, sent_at, error_message }: RecordedRow): ItemResult =>
  sent_at === null ? failedItem(index, providerError(error_message ?? ''), id) : sentItem(index, id)

const responseOf = (data: ItemResult[]): BatchResult => {
  const succeeded = data.filter(({ status }) => status === 'sent').length
  const total = data.length
  return { data: data.sort((a, b) => a.index - b.index), total, succeeded, failed: total - succeeded }
}

type Needs<D extends Draft> = SendNeeds<D> & {
  recordChunk: RecordChunk
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

type PlacedDraft<D extends Draft> = { index: number; draft: D }

/** A draft, its position in the call, the batch's reservation and this item's part of it. */
type ReservedItem<D extends Draft> = PlacedDraft<D> & { reserved: Price; batchReservation: Reservation }

/** What the items of one call share. */
type Run<D extends Draft> = {
  handOver: HandOver<D>
  chunks: BatchChunks<ItemResult>
  claim: IdempotencyClaim | undefined
  until: number
}

export const makeSendBatch = <D extends Draft>(needs: Needs<D>): SendBatch<D> => {
  const { channel, admit, beginHandOver, usage, recordChunk, takeUp, clock, log, applyReports, concurrency } = needs

  /** Reservations of which a part could not be released. They stay stored, and are settled when they expire. */
  const unreleased = new WeakSet<Reservation>()

  /** Nothing is released twice, so a release whose response was lost can be repeated. */
  const released = (draft: D, reservation: Reservation, releaseOnce: () => Promise<void>): Promise<void> =>
    retryOnOutage(releaseOnce).catch((error) => {
      unreleased.add(reservation)
      log.error({ err: error, message_id: draft.id }, 'usage release failed')
    })

  /** Releases usage that the item does not need. `left` is what it still uses. */
  const release = ({ draft, batchReservation }: ReservedItem<D>, part: Price, left?: Price): Promise<void> => {
    const spendOf = (price: Price) => ({ ...spendBy(draft), ...price })
    return released(draft, batchReservation, () =>
      usage.releasePart(batchReservation, draft.id, spendOf(part), left && spendOf(left)),
    )
  }

  /** Deletes the stored reservation of the batch. What is still reserved stays counted. */
  const close = async (reservation: Reservation): Promise<void> => {
    if (unreleased.has(reservation)) return
    await usage.close(reservation).catch((err) => log.error({ err }, 'usage reservation not closed'))
  }

  /** Runs every step before the provider. An item that fails here is neither counted nor stored. */
  const admitItem = async (item: ReservedItem<D>): Promise<{ used: Price; itemReservation: Reservation }> => {
    const { draft, reserved } = item
    try {
      await passGates(channel.gates.batch, draft, 'batch')
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

  const addFailed = ({ index, draft }: ReservedItem<D>, fault: HandoverFault, chunks: Run<D>['chunks']): void => {
    const at = clock.now()
    chunks.add({
      recording: {
        message: failedRow(draft, channel.contentOf(draft), fault, at),
        event: { at, more: { error: fault.message } },
      },
      isSent: false,
      resultOf: (stored) => failedItem(index, itemErrorOf(fault), stored ? draft.id : null),
    })
  }

  const addSent = ({ index, draft }: ReservedItem<D>, handover: Handover, chunks: Run<D>['chunks']): void => {
    const at = clock.now()
    const { reports } = handover
    chunks.add({
      recording: { message: sentRow(draft, channel.contentOf(draft), handover, at), event: { at } },
      isSent: true,
      resultOf: (stored) => (stored ? sentItem(index, draft.id) : sentItem(index, null, notRecordedItem)),
      onStored: reports && (() => applyReports(draft.by.orgId, draft.id, reports)),
    })
  }

  /** Returns the result of an item that is not stored. The others get theirs when they are. */
  const runItem = async (item: ReservedItem<D>, run: Run<D>): Promise<ItemResult | undefined> => {
    const { index, draft } = item
    let admitted: Awaited<ReturnType<typeof admitItem>>
    try {
      admitted = await admitItem(item)
    } catch (error) {
      if (error instanceof Failure) return failedItem(index, errorOf(error))
      log.error({ err: error, message_id: draft.id }, 'batch item check failed')
      return failedItem(index, notSent(draft))
    }
    const { used, itemReservation } = admitted
    const releaseAll = () =>
      Promise.all([release(item, used), released(draft, itemReservation, () => usage.release(itemReservation))])
    if (run.claim && !run.claim.isHeld()) {
      await releaseAll()
      return failedItem(index, notSent(draft))
    }
    let handover: Handover
    try {
      handover = await run.handOver(draft)
    } catch (error) {
      if (error instanceof Failure) {
        await releaseAll()
        return failedItem(index, errorOf(error))
      }
      const fault = asHandoverFault(error)
      await needs.suppressRefused(draft, fault)
      log.warn({ err: fault, message_id: draft.id, kind: fault.kind }, 'message handover failed')
      if (releasesUsage(fault)) await releaseAll()
      addFailed(item, fault, run.chunks)
      return undefined
    }
    addSent(item, handover, run.chunks)
    return undefined
  }

  /** Reserves usage for all these items at once, before the first one is sent. */
  const reserveAll = async (drafts: PlacedDraft<D>[], id: string): Promise<ReservedItem<D>[]> => {
    const [first] = drafts
    if (!first) return []
    const prices = (await Promise.all(drafts.map(({ draft }) => channel.priceOf(draft)))).map(batchPart)
    const parts = Object.fromEntries(
      drafts.map(({ draft }, i) => [draft.id, partOf({ ...spendBy(draft), ...(prices[i] as Price) })]),
    )
    const batchReservation = await usage.reserve({ ...spendBy(first.draft), ...sumOf(prices) }, { id, parts })
    return drafts.map(({ index, draft }, i) => ({ index, draft, batchReservation, reserved: prices[i] as Price }))
  }

  /** Returns the results of the items that are not stored. */
  const runAll = async (items: ReservedItem<D>[], run: Run<D>): Promise<ItemResult[]> => {
    const results: ItemResult[] = []
    const next = items.values()
    const runNext = async (): Promise<void> => {
      for (const item of next) {
        if (clock.millis() < run.until) {
          const result = await runItem(item, run)
          if (result) results.push(result)
        } else {
          await release(item, item.reserved)
          results.push(failedItem(item.index, notSent(item.draft, 'Not sent: the batch reached its time limit')))
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, runNext))
    return results
  }

  return async (itemsOf, actor, claim) => {
    const until = clock.millis() + timeLimitMs
    const items = await itemsOf()
    const drafts = items.flatMap((item, index) => (item instanceof Failure ? [] : [{ index, draft: item }]))
    const refused = items.flatMap((item, index) => (item instanceof Failure ? [failedItem(index, errorOf(item))] : []))
    const [first] = drafts
    if (!first) return { body: responseOf(refused) }
    const batchId = claimedId('request', claim, clock)
    const ids = drafts.map(({ draft }) => draft.id)
    const recorded = claim?.interrupted ? await takeUp(first.draft.by.orgId, ids, [batchId]) : undefined
    const earlier = drafts.flatMap(({ index, draft }) => {
      const row = recorded?.get(draft.id)
      return row ? [recordedItem(index, row)] : []
    })
    const unsent = drafts.filter(({ draft }) => !recorded?.has(draft.id))
    const reservedItems = await reserveAll(unsent, batchId)
    const entryOf = (sent: number) => sentEntry(first.draft, actor, null, sent)
    const chunks = startChunks<ItemResult>({ record: recordChunk, entryOf, log })
    const unstored = await runAll(reservedItems, { handOver: beginHandOver(until), chunks, claim, until })
    const reservation = reservedItems[0]?.batchReservation
    const bodyOf = (results: ItemResult[]) => responseOf([...refused, ...earlier, ...unstored, ...results])
    const { results, stored } = await chunks.finish((all) => ({
      ...(claim && { answer: { claim, status: 200, body: JSON.stringify(bodyOf(all)) } }),
      ...(reservation?.stored && !unreleased.has(reservation) && { closes: reservation.stored }),
    }))
    if (reservation && !stored) await close(reservation)
    return { body: bodyOf(results), ...(claim && stored && { recorded: true }) }
  }
}
