/**
 * The steps after the gates of a draft, in a fixed order: suppressed recipients, the late gates, the size of the final
 * content, and the usage limits.
 */
import type { MaybePromise } from '../ground/maybe-promise.ts'
import type { FindSuppressed } from '../suppressions/find-suppressed.ts'
import type { Spend } from '../usage/lines.ts'
import type { Keep, Reservation, Usage } from '../usage/reserve.ts'
import type { ChannelAdapter, Price } from './channel-adapter.ts'
import { appliesTo, type Draft, passGates, type SendKind } from './draft.ts'

type Admission = {
  /** The usage to reserve. A batch reserves most of a price before its items are admitted. */
  spendOf: (price: Price) => Spend
  keep: Keep
}

export interface AdmitDraft<D extends Draft> {
  /** Runs every step except the usage limits. */
  check(draft: D, kind: SendKind): Promise<void>
  /** Runs every step and reserves usage. Nothing is reserved for a draft that fails a step. */
  reserve(draft: D, kind: SendKind, admission: Admission): Promise<{ price: Price; reservation: Reservation }>
}

type Needs<D extends Draft> = { channel: ChannelAdapter<D>; usage: Usage; findSuppressed: FindSuppressed }

const reservesNothing = ({ units, sandbox, warmup }: Spend): boolean => units === 0 && !sandbox && !warmup

export const makeAdmitDraft = <D extends Draft>({ channel, usage, findSuppressed }: Needs<D>): AdmitDraft<D> => {
  /** The content of a scheduled message was finished when it was accepted. */
  const finish = (draft: D, kind: SendKind): MaybePromise<void> => (kind === 'fire' ? undefined : channel.finish(draft))

  const findSuppressedOf = (draft: D): Promise<ReadonlySet<string>> =>
    findSuppressed({ orgId: draft.by.orgId, channel: draft.channel, ...channel.recipientsOf(draft) })

  const removeSuppressed = async (draft: D): Promise<void> => {
    const suppressed = await findSuppressedOf(draft)
    if (suppressed.size > 0) channel.removeSuppressed(draft, suppressed)
  }

  /** If a recipient is suppressed, it is removed, and what was drawn is given back. */
  const isUnsuppressed = async (draft: D, drawn: Reservation): Promise<boolean> => {
    try {
      const suppressed = await findSuppressedOf(draft)
      if (suppressed.size === 0) return true
      channel.removeSuppressed(draft, suppressed)
    } catch (error) {
      await usage.release(drawn)
      throw error
    }
    await usage.release(drawn)
    return false
  }

  const passLateGates = async (draft: D, kind: SendKind): Promise<void> => {
    await removeSuppressed(draft)
    await passGates(channel.lateGates, draft, kind)
    await finish(draft, kind)
  }

  const reserveNow = async (draft: D, { spendOf, keep }: Admission) => {
    const price = await channel.priceOf(draft)
    return { price, reservation: await usage.reserve(spendOf(price), keep) }
  }

  return {
    check: passLateGates,
    reserve: async (draft, kind, admission) => {
      if (channel.lateGates[kind].some((gate) => appliesTo(gate, draft))) {
        await passLateGates(draft, kind)
        return reserveNow(draft, admission)
      }
      // Without late gates, one statement finds suppressed recipients, and reserves usage unless it was leased before.
      try {
        const finishing = finish(draft, kind)
        if (finishing) await finishing
      } catch (error) {
        await removeSuppressed(draft)
        throw error
      }
      const known = channel.priceOf(draft)
      const price = known instanceof Promise ? await known : known
      const spend = admission.spendOf(price)
      if (reservesNothing(spend)) {
        await removeSuppressed(draft)
        return reserveNow(draft, admission)
      }
      const drawing = kind === 'single' ? usage.draw(spend) : undefined
      const drawn = drawing instanceof Promise ? await drawing : drawing
      if (drawn) {
        if (channel.checksAtHandOver?.(draft) || (await isUnsuppressed(draft, drawn)))
          return { price, reservation: drawn }
        return reserveNow(draft, admission)
      }
      const result = await usage.reserveUnlessSuppressed(spend, admission.keep, channel.recipientsOf(draft))
      if (!('suppressed' in result)) return { price, reservation: result }
      channel.removeSuppressed(draft, result.suppressed)
      return reserveNow(draft, admission)
    },
  }
}
