/** Many messages in one call: one quota for all, and for each item the pipeline of a single send. */
import type { Actor, Audit } from '../audit/append.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { type Code, catalogue, Failure } from '../ground/errors.ts'
import type { Log } from '../ground/log.ts'
import type { MaybePromise } from '../ground/maybe-promise.ts'
import type { Handover, HandoverError } from '../providers/email/email-provider.ts'
import type { Reservation, Usage } from '../usage/reserve.ts'
import type { ChannelAdapter, Price } from './channel-adapter.ts'
import { type Draft, passGates } from './draft.ts'
import type { RecordMessage } from './record.ts'
import { asHandoverError, failedRow, sentRow } from './rows.ts'
import { givesBack, notRecorded, sentEntry, spendBy, type TakeReports } from './send.ts'

export type ItemError = { code: string; message: string }
export type ItemResult = {
  index: number
  id: string | null
  status: 'sent' | 'failed'
  error: ItemError | null
}
export type BatchResult = { data: ItemResult[]; total: number; succeeded: number; failed: number }

/** An item as it came: a draft, or why there is none. */
export type Item<D extends Draft> = D | Failure

/** The items are asked for within the call's time: files may have to be fetched for them. */
export type SendBatch<D extends Draft> = (itemsOf: () => MaybePromise<Item<D>[]>, actor: Actor) => Promise<BatchResult>

/** From the beginning of the call. Items not begun by then are not begun at all. */
const budgetMs = 300_000

/** What an item is told where a single send is told more finely. */
const itemCode: Partial<{ [C in Code]: Code }> = {
  INVALID_FROM: 'VALIDATION_ERROR',
  SENDER_DOMAIN_NOT_VERIFIED: 'SENDER_NOT_VERIFIED',
  ALL_SUPPRESSED: 'SUPPRESSED',
  TO_ALL_SUPPRESSED: 'SUPPRESSED',
}

const errorOf = (failure: Failure): ItemError => {
  const code = itemCode[failure.code] ?? failure.code
  const [first] = failure.detail.errors ?? []
  if (first) {
    const where = first.path.length > 0 ? `${first.path.join('.')}: ` : ''
    return { code, message: `${where}${first.message}` }
  }
  // The words of VALIDATION_ERROR point at a list that items do not have.
  const own = code === failure.code || code === 'VALIDATION_ERROR'
  return { code, message: own ? failure.message : catalogue[code].text }
}

const failedItem = (index: number, error: ItemError, id: string | null = null): ItemResult => ({
  index,
  id,
  status: 'failed',
  error,
})

const notRecordedItem: ItemError = { code: 'MESSAGE_NOT_RECORDED', message: notRecorded }

const providerError = (message: string): ItemError => ({ code: 'PROVIDER_ERROR', message })

type Needs<D extends Draft> = {
  channel: ChannelAdapter<D>
  usage: Usage
  record: RecordMessage
  audit: Audit
  db: Db
  clock: Clock
  log: Log
  tellReports: TakeReports
  /** How many items are under way at once. */
  lanes: number
}

/** What the whole batch is judged by; the rest is each item's own. */
const shared = ({ units, segments, costMicros }: Price): Price => ({ units, segments, costMicros })

const added = (prices: Price[]): Price =>
  prices.reduce((sum, price) => ({
    units: sum.units + price.units,
    segments: (sum.segments ?? 0) + (price.segments ?? 0),
    costMicros: (sum.costMicros ?? 0) + (price.costMicros ?? 0),
  }))

const less = (asked: Price, used: Price): Price => ({
  units: asked.units - used.units,
  segments: (asked.segments ?? 0) - (used.segments ?? 0),
  costMicros: (asked.costMicros ?? 0) - (used.costMicros ?? 0),
})

/** A draft with its place in the call and what was set aside for it. */
type Waiting<D extends Draft> = { index: number; draft: D; asked: Price; held: Reservation }

export const makeSendBatch = <D extends Draft>(needs: Needs<D>): SendBatch<D> => {
  const { channel, usage, record, audit, db, clock, log, tellReports, lanes } = needs

  const giveBack = ({ draft, held }: Waiting<D>, part: Price, own?: Reservation): Promise<void> =>
    Promise.all([usage.releasePart(held, { ...spendBy(draft), ...part }), own && usage.release(own)]).then(
      () => undefined,
      (error) => log.error({ err: error, message_id: draft.id }, 'unused quota could not be given back'),
    )

  /** Everything before the provider: what is refused here costs nothing and leaves nothing. */
  const admit = async (waiting: Waiting<D>): Promise<{ used: Price; own: Reservation }> => {
    const { draft, asked } = waiting
    try {
      await passGates(channel.gates, draft, 'batch')
      channel.finish(draft)
      const { sandbox, warmup, ...price } = await channel.priceOf(draft)
      const own = await usage.reserve({ ...spendBy(draft), units: 0, sandbox, warmup })
      const used = shared(price)
      if (used.units < asked.units) await giveBack(waiting, less(asked, used))
      return { used, own }
    } catch (error) {
      await giveBack(waiting, asked)
      throw error
    }
  }

  const refused = async (waiting: Waiting<D>, fault: HandoverError): Promise<ItemResult> => {
    const { index, draft } = waiting
    const at = clock.now()
    const event = { at, more: { error: fault.message } }
    try {
      await record({ message: failedRow(draft, channel.contentOf(draft), fault, at), event })
      return failedItem(index, providerError(fault.message), draft.id)
    } catch (error) {
      log.error({ err: error, message_id: draft.id }, 'a failed message could not be recorded')
      return failedItem(index, providerError(fault.message))
    }
  }

  const sent = async ({ index, draft }: Waiting<D>, handed: Handover): Promise<ItemResult> => {
    const at = clock.now()
    try {
      await record({ message: sentRow(draft, channel.contentOf(draft), handed, at), event: { at } })
    } catch (error) {
      log.error({ err: error, message_id: draft.id }, 'a message was handed over and could not be recorded')
      return { index, id: null, status: 'sent', error: notRecordedItem }
    }
    if (handed.reports) tellReports(draft.by.orgId, draft.id, handed.reports)
    return { index, id: draft.id, status: 'sent', error: null }
  }

  const runItem = async (waiting: Waiting<D>): Promise<ItemResult> => {
    const { index, draft } = waiting
    let admitted: Awaited<ReturnType<typeof admit>>
    try {
      admitted = await admit(waiting)
    } catch (error) {
      if (error instanceof Failure) return failedItem(index, errorOf(error))
      log.error({ err: error, message_id: draft.id }, 'a batch item could not be judged')
      return failedItem(index, providerError('Not sent. It is safe to try again.'))
    }
    let handed: Handover
    try {
      handed = await channel.handOver(draft)
    } catch (error) {
      const fault = asHandoverError(error)
      log.warn({ err: fault, message_id: draft.id, kind: fault.kind }, 'a message was not handed over')
      if (givesBack(fault)) await giveBack(waiting, admitted.used, admitted.own)
      return refused(waiting, fault)
    }
    return sent(waiting, handed)
  }

  /** One quota for all that is well-formed, asked before anything is sent. */
  const setAside = async (items: Item<D>[]): Promise<Waiting<D>[]> => {
    const drafts = items.flatMap((item, index) => (item instanceof Failure ? [] : [{ index, draft: item }]))
    const [first] = drafts
    if (!first) return []
    const prices = await Promise.all(drafts.map(async ({ draft }) => shared(await channel.priceOf(draft))))
    const held = await usage.reserve({ ...spendBy(first.draft), ...added(prices) })
    return drafts.map(({ index, draft }, i) => ({ index, draft, held, asked: prices[i] as Price }))
  }

  const runAll = async (waiting: Waiting<D>[], until: number): Promise<ItemResult[]> => {
    const results: ItemResult[] = []
    const next = waiting.values()
    const lane = async (): Promise<void> => {
      for (const one of next) {
        if (clock.millis() < until) results.push(await runItem(one))
        else {
          await giveBack(one, one.asked)
          results.push(failedItem(one.index, providerError('Not begun in time. It is safe to try again.')))
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(lanes, waiting.length) }, lane))
    return results
  }

  return async (itemsOf, actor) => {
    const until = clock.millis() + budgetMs
    const items = await itemsOf()
    const waiting = await setAside(items)
    const results = await runAll(waiting, until)
    const faulty = items.flatMap((item, index) => (item instanceof Failure ? [failedItem(index, errorOf(item))] : []))
    const data = [...results, ...faulty].sort((a, b) => a.index - b.index)
    const succeeded = data.filter(({ status }) => status === 'sent').length
    const [first] = waiting
    if (first && succeeded > 0) {
      await db
        .tx((tx) => audit(tx, sentEntry(first.draft, actor, null, succeeded)))
        .catch((error) => log.error({ err: error }, 'the audit entry of a batch could not be written'))
    }
    return { data, total: data.length, succeeded, failed: data.length - succeeded }
  }
}
