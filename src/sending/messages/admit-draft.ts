/**
 * The steps after the gates of a draft, in a fixed order: suppressed recipients, the late gates, the size of the final
 * content, and the usage limits.
 */
import type { Spend } from '../../customers/usage/lines.ts'
import type { Keep, Reservation, Usage } from '../../customers/usage/reserve.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { FindSuppressed } from '../../recipients/suppressions/find-suppressed.ts'
import type { ChannelAdapter, Price } from './channel-adapter.ts'
import { appliesTo, type Draft, passGates, type SendKind } from './draft.ts'

type Admission = {
  /** The usage to reserve. A batch reserves most of a price before its items are admitted. */
  spendOf: (price: Price) => Spend
  keep: Keep
}

type Admitted = { price: Price; reservation: Reservation }

type Needs<D extends Draft> = { channel: ChannelAdapter<D>; usage: Usage; findSuppressed: FindSuppressed }

const reservesNothing = ({ units, sandbox, warmup }: Spend): boolean => units === 0 && !sandbox && !warmup

/**
 * A draft is suppression-checked and its usage reserved in one of three ways: step by step, if there are late gates in
 * between or nothing is to be reserved; from a lease of this process; or both in one statement. Where a suppressed
 * recipient is only found with the reservation, the recipient is removed and the usage of the others is reserved.
 */
export const makeAdmitDraft = <D extends Draft>({ channel, usage, findSuppressed }: Needs<D>) => {
  const findSuppressedOf = (draft: D): Promise<ReadonlySet<string>> =>
    findSuppressed({ orgId: draft.by.orgId, channel: draft.channel, ...channel.recipientsOf(draft) })

  const removeSuppressed = async (draft: D): Promise<void> => {
    const suppressed = await findSuppressedOf(draft)
    if (suppressed.size > 0) channel.removeSuppressed(draft, suppressed)
  }

  /** The content of a scheduled message was finished when it was accepted. */
  const finish = (draft: D, kind: SendKind): MaybePromise<void> => (kind === 'fire' ? undefined : channel.finish(draft))

  const hasLateGates = (draft: D, kind: SendKind): boolean =>
    channel.lateGates[kind].some((gate) => appliesTo(gate, draft))

  const passLateGates = async (draft: D, kind: SendKind): Promise<void> => {
    await removeSuppressed(draft)
    await passGates(channel.lateGates[kind], draft, kind)
    await finish(draft, kind)
  }

  const reserveChecked = async (draft: D, { spendOf, keep }: Admission): Promise<Admitted> => {
    const price = await channel.priceOf(draft)
    return { price, reservation: await usage.reserve(spendOf(price), keep) }
  }

  /** Gives back what was drawn from a lease, unless no recipient is suppressed. Returns whether none is. */
  const keepsDrawn = async (draft: D, drawn: Reservation): Promise<boolean> => {
    let removed = true
    try {
      const suppressed = await findSuppressedOf(draft)
      removed = suppressed.size > 0
      if (removed) channel.removeSuppressed(draft, suppressed)
    } finally {
      if (removed) await usage.release(drawn)
    }
    return !removed
  }

  return {
    /** Runs every step except the usage limits. */
    check: passLateGates,
    /** Runs every step and reserves usage. Nothing is reserved for a draft that fails a step. */
    reserve: async (draft: D, kind: SendKind, admission: Admission): Promise<Admitted> => {
      if (hasLateGates(draft, kind)) {
        await passLateGates(draft, kind)
        return reserveChecked(draft, admission)
      }
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
        return reserveChecked(draft, admission)
      }
      const drawing = kind === 'single' ? usage.draw(spend) : undefined
      const drawn = drawing instanceof Promise ? await drawing : drawing
      if (drawn) {
        const keeps = channel.checksAtHandOver?.(draft) || (await keepsDrawn(draft, drawn))
        return keeps ? { price, reservation: drawn } : reserveChecked(draft, admission)
      }
      const result = await usage.reserveUnlessSuppressed(spend, admission.keep, channel.recipientsOf(draft))
      if (!('suppressed' in result)) return { price, reservation: result }
      channel.removeSuppressed(draft, result.suppressed)
      return reserveChecked(draft, admission)
    },
  }
}

export type AdmitDraft<D extends Draft> = ReturnType<typeof makeAdmitDraft<D>>
