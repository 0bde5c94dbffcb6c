/** Sends the stored content of a message again, as a new scheduled message that is due at once. */
import type { Actor } from '../../journal/audit/append.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import type { Links } from '../tracking/links.ts'
import type { AcceptForLater } from './accept-for-later.ts'
import type { ChannelAdapter } from './channel-adapter.ts'
import { type Draft, passGates } from './draft.ts'
import type { AcceptedMessage } from './sent-message.ts'
import type { MessageRow, SmsFields } from './store/message-row.ts'

/** The row is not changed. */
export type ResendMessage = (row: MessageRow, actor: Actor) => Promise<AcceptedMessage>

// biome-ignore lint/suspicious/noExplicitAny: each channel only gets drafts that it made itself
type ResendChannel = { channel: ChannelAdapter<any>; later: AcceptForLater<any> }

type Needs = { clock: Clock; links: Pick<Links, 'moveTo'>; channels: Record<string, ResendChannel> }

const assertResendable = ({ status, redacted_at, attachments }: MessageRow): void => {
  if (status === 'scheduled' || status === 'sending') throw new Failure('NOT_RESENDABLE')
  if (redacted_at !== null) throw new Failure('CONTENT_REDACTED')
  if (attachments !== null && attachments.length > 0) throw new Failure('ATTACHMENTS_NOT_STORED')
}

/** The local time belongs to the first sending. */
const withoutLocalTime = (sms: SmsFields | null): SmsFields | null => {
  if (sms === null) return null
  const { scheduled_local: _, scheduled_at_tz: __, ...others } = sms
  return others
}

export const makeResendMessage = ({ clock, links, channels }: Needs): ResendMessage => {
  /** The links of the copy count for the copy. */
  const linksMoved = (row: MessageRow, id: string) => {
    const from = { orgId: row.org_id, messageId: row.id }
    const to = { orgId: row.org_id, messageId: id }
    const move = (text: string): string => links.moveTo(text, from, to)
    const headers = row.headers && Object.entries(row.headers).map(([name, value]) => [name, move(value)])
    return {
      html: row.html && move(row.html),
      text: row.channel === 'email' ? row.text && move(row.text) : row.text,
      headers: headers && Object.fromEntries(headers),
    }
  }

  const copyOf = (row: MessageRow, at: Date): MessageRow => {
    const id = newId('message', at.getTime())
    return {
      ...row,
      ...linksMoved(row, id),
      id,
      created_at: new Date(timeOfId(id)),
      key_id: null,
      job_id: null,
      scheduled_at: at,
      sms: withoutLocalTime(row.sms),
      metadata: { ...row.metadata, resent_from: row.id },
    }
  }

  return async (row, actor) => {
    assertResendable(row)
    const to = channels[row.channel]
    if (!to) throw new Error(`The channel ${row.channel} is not configured`)
    const draft: Draft = to.channel.draftOf(copyOf(row, clock.now()))
    // The gates find the sender, whose sandbox limit counts now. What they refuse, the scheduler records as failed.
    await passGates(to.channel.gates.fire, draft, 'fire').catch((error) => {
      if (!(error instanceof Failure)) throw error
    })
    return to.later.schedule(draft, { actor, claim: undefined })
  }
}
