/** When each recipient's message is due: its place in the ramp, moved out of quiet hours. */
import { startSlices } from '../../platform/ground/event-loop-turns.ts'
import { minuteMs } from '../../platform/ground/units.ts'
import { outOfQuietHours } from './quiet-hours.ts'
import type { SendAudienceBody } from './shapes.ts'
import { testShare, variantOf } from './variants.ts'

export type BlastRecipient = {
  contactId: string
  address: string
  /** The size of the contact's metadata. */
  bytes: number
}

export type Slot = BlastRecipient & {
  dueAt: Date
  deferred: boolean
  /** The subject of the recipient. Null without variants, and while it waits for the best one. */
  variant: number | null
  waits: boolean
}

export type SlotPlan = {
  slots: Slot[]
  startsAt: Date
  endsAt: Date
  /** When the best subject is chosen, if one is. */
  decidesAt: Date | null
}

/** Slot i of n, spread evenly from the start to the end of the ramp. */
const timeOf = (start: Date, rampMinutes: number, i: number, n: number): Date =>
  new Date(start.getTime() + (n > 1 ? Math.round((i * rampMinutes * minuteMs) / (n - 1)) : 0))

type Ramp = { start: Date; rampMinutes: number; quietHours: boolean }

type Timed = BlastRecipient & Pick<Slot, 'dueAt' | 'deferred'>

const ramp = async (
  recipients: readonly BlastRecipient[],
  { start, rampMinutes, quietHours }: Ramp,
): Promise<Timed[]> => {
  const slices = startSlices()
  const timed: Timed[] = []
  for (const [i, recipient] of recipients.entries()) {
    const slot = timeOf(start, rampMinutes, i, recipients.length)
    const dueAt = quietHours ? outOfQuietHours(recipient.address, slot, start) : slot
    timed.push({ ...recipient, dueAt, deferred: dueAt > slot })
    if (slices.over()) await slices.next()
  }
  return timed
}

const latest = (slots: readonly { dueAt: Date }[], otherwise: Date): Date =>
  slots.reduce((last, { dueAt }) => (dueAt > last ? dueAt : last), slots[0]?.dueAt ?? otherwise)

const earliest = (slots: readonly { dueAt: Date }[], otherwise: Date): Date =>
  slots.reduce((first, { dueAt }) => (dueAt < first ? dueAt : first), slots[0]?.dueAt ?? otherwise)

type Request = Pick<SendAudienceBody, 'channel' | 'ramp_minutes' | 'subject_variants' | 'winner'>

/** @param recipients In the order of their contact ids. */
export const planSlots = async (
  recipients: readonly BlastRecipient[],
  { channel, ramp_minutes: rampMinutes, subject_variants: subjects, winner }: Request,
  { start, quietHours }: { start: Date; quietHours: boolean },
): Promise<SlotPlan> => {
  const variants = channel === 'email' ? (subjects?.length ?? 0) : 0
  const held = { rampMinutes, quietHours: quietHours && channel === 'sms' }
  const inTest =
    winner && variants > 0
      ? testShare(
          recipients.map(({ contactId }) => contactId),
          variants,
          winner.test_percent,
        )
      : null
  const first = await ramp(
    recipients.filter(({ contactId }) => inTest?.has(contactId) ?? true),
    { ...held, start },
  )
  const decidesAt = winner && inTest ? new Date(latest(first, start).getTime() + winner.wait_minutes * minuteMs) : null
  const rest = decidesAt
    ? await ramp(
        recipients.filter(({ contactId }) => !inTest?.has(contactId)),
        { ...held, start: decidesAt },
      )
    : []
  const slots: Slot[] = [
    ...first.map((slot) => ({
      ...slot,
      variant: variants > 0 ? variantOf(slot.contactId, variants) : null,
      waits: false,
    })),
    ...rest.map((slot) => ({ ...slot, variant: null, waits: true })),
  ]
  return { slots, startsAt: earliest(slots, start), endsAt: latest(slots, start), decidesAt }
}
