/** What the batch routes of all channels share. */
import { Failure } from '../../platform/ground/errors.ts'
import { startSlices } from '../../platform/ground/event-loop-turns.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { Draft } from '../../sending/messages/draft.ts'
import type { Item } from '../../sending/messages/send-batch.ts'

export const maxBatch = 100

/** Errors of the usage limits, which every send can return. */
export const quotaErrors = [
  'USAGE_LIMIT_EXCEEDED',
  'TENANT_QUOTA_EXCEEDED',
  'SPEND_CAP_EXCEEDED',
  'TEST_DAILY_LIMIT',
] as const

/**
 * The draft of each item, or its failure. Items are read one after another, so that ids increase in request order and
 * lists keep that order. Between them other requests are served.
 */
export const readItems = async <D extends Draft>(
  list: readonly unknown[],
  draftOf: (raw: unknown, index: number) => MaybePromise<D>,
): Promise<Item<D>[]> => {
  const items: Item<D>[] = []
  const slices = startSlices()
  for (const [index, raw] of list.entries()) {
    try {
      items.push(await draftOf(raw, index))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      items.push(error)
    }
    if (slices.over()) await slices.next()
  }
  return items
}
