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

/** Slot i of n, spread evenly from the start to the end of the ramp. */
const timeOf = (start: Date, rampMinutes: number, i: number, n: number): Date =>
  new Date(start.getTime() + (n > 1 ? Math.round((i * rampMinutes * minuteMs) / (n - 1)) : 0))

type Ramp = { start: Date; rampMinutes: number; quietHours: boolean }

const ramp = async (recipients: readonly BlastRecipient[], { start, rampMinutes, quietHours }: Ramp) => {
  const slices = startSlices()
  const timed: (BlastRecipient & Pick<Slot, 'dueAt' | 'deferred'>)[] = []
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
) => {
  const variants = channel === 'email' ? (subjects?.length ?? 0) : 0
  const held = { rampMinutes, quietHours: quietHours && channel === 'sms' }
  const ids = recipients.map(({ contactId }) => contactId)
  const inTest = winner && variants > 0 ? testShare(ids, variants, winner.test_percent) : null
  const isFirst = ({ contactId }: BlastRecipient): boolean => inTest?.has(contactId) ?? true
  const others = recipients.filter((recipient) => !isFirst(recipient))
  const first = await ramp(recipients.filter(isFirst), { ...held, start })
  const decidesAt = winner && inTest ? new Date(latest(first, start).getTime() + winner.wait_minutes * minuteMs) : null
  const rest = decidesAt ? await ramp(others, { ...held, start: decidesAt }) : []
  const variantFor = (contactId: string): number | null => (variants > 0 ? variantOf(contactId, variants) : null)
  const slots: Slot[] = [
    ...first.map((slot) => ({ ...slot, variant: variantFor(slot.contactId), waits: false })),
    ...rest.map((slot) => ({ ...slot, variant: null, waits: true })),
  ]
  // `decidesAt` is when the best subject is chosen, if one is.
  return { slots, startsAt: earliest(slots, start), endsAt: latest(slots, start), decidesAt }
}

export type SlotPlan = Awaited<ReturnType<typeof planSlots>>
