/** Records bounces and complaints that arrive by mail as outcomes of the message that their return path names. */
import type { Clock } from '../../platform/ground/clock.ts'
import { sha256Hex } from '../../platform/ground/crypto.ts'
import type { Log } from '../../platform/ground/log.ts'
import { wireAddress } from '../../providers/email/compose-mime.ts'
import type { ReturnRef } from '../../sending/messages/email/return-token.ts'
import type { Outcomes } from '../../sending/messages/outcomes.ts'
import type { ParsedMail } from '../submission/parsed-mail.ts'
import { type ReportEntry, readDeliveryReport } from './delivery-report.ts'

export type TakeReport = (ref: ReturnRef, mail: ParsedMail) => Promise<void>

const comparable = (address: string): string => wireAddress(address).toLowerCase()

/**
 * The recipient of the message that an entry is about. Every recipient can see the return path and write to it,
 * so an entry never concerns an address that the message was not sent to. A forwarded message bounces at an address that
 * we do not know. It counts for the recipient when there is only one.
 */
const recipientFor = (recipients: string[], { addresses }: ReportEntry, only: number | null): string | undefined => {
  const named = new Set(addresses.map(comparable))
  return recipients.find((one) => named.has(comparable(one))) ?? (only === null ? undefined : recipients[only])
}

/** The same for every copy of a report, so that a server may deliver it again. */
const idOf = ({ orgId, messageId }: ReturnRef, mail: ParsedMail, entry: ReportEntry): string => {
  const reportId = mail.headers.find(({ name }) => name.toLowerCase() === 'message-id')?.value.trim() ?? ''
  return sha256Hex(JSON.stringify([orgId, messageId, reportId, entry.kind, entry.addresses, entry.detail]))
}

type Needs = { outcomes: Pick<Outcomes, 'take' | 'recipientsOf'>; clock: Clock; log: Log }

export const makeTakeReport =
  ({ outcomes, clock, log }: Needs): TakeReport =>
  async (ref, mail) => {
    const { orgId, messageId } = ref
    const entries = readDeliveryReport(mail)
    const recipients = entries.length === 0 ? [] : await outcomes.recipientsOf(orgId, messageId)
    let recorded = 0
    for (const entry of entries) {
      const recipient = recipientFor(recipients, entry, ref.recipient)
      if (recipient === undefined) continue
      const { kind, detail, bounceType, bounceSubtype } = entry
      const report = { kind, detail, bounceType, bounceSubtype, recipients: [recipient], at: clock.now() }
      await outcomes.take({ provider: 'smtp', id: idOf(ref, mail, entry), orgId, messageId, report })
      recorded++
    }
    log.info({ message_id: messageId, entries: entries.length, recorded }, 'mail to a return path received')
  }
