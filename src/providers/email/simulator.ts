/** The recipients that play an outcome, and sends that go to nobody. */
import { newId } from '../../ground/ids.ts'
import type { Handover, Mail, Report } from './email-provider.ts'
import { recipientsOf } from './kept-mail.ts'

type Outcome = Omit<Report, 'recipients' | 'at'>

const outcomes: Record<string, Outcome> = {
  delivered: {
    kind: 'delivered',
    detail: '250 2.0.0 Delivered by the simulator',
    bounceType: null,
    bounceSubtype: null,
  },
  bounced: {
    kind: 'hard_bounce',
    detail: '550 5.1.1 No such mailbox, says the simulator',
    bounceType: 'Permanent',
    bounceSubtype: 'General',
  },
  softbounced: {
    kind: 'soft_bounce',
    detail: '452 4.2.2 Mailbox full, says the simulator',
    bounceType: 'Transient',
    bounceSubtype: 'MailboxFull',
  },
  complained: {
    kind: 'complaint',
    detail: 'abuse',
    bounceType: null,
    bounceSubtype: null,
  },
}

/**
 * The part an address plays at the simulator; undefined for one that is no simulator address. What follows a `+` only
 * tells recipients apart: one that bounced is suppressed, and the next test needs another.
 */
export const partOf = (address: string, serviceDomain: string): string | undefined => {
  const lower = address.toLowerCase()
  const at = lower.lastIndexOf('@')
  if (!lower.startsWith('simulator.', at + 1)) return undefined
  if (lower.slice(at + 11) !== serviceDomain.toLowerCase()) return undefined
  const local = lower.slice(0, at)
  const plus = local.indexOf('+')
  return plus < 0 ? local : local.slice(0, plus)
}

/** What the simulator recipients of a mail report, each by itself. */
export const simulatedReports = (mail: Mail, serviceDomain: string, at: Date): Report[] => {
  const players = recipientsOf(mail).filter((address) => partOf(address, serviceDomain) !== undefined)
  if (players.length === 0) return []
  return [...new Set(players)].flatMap((address) => {
    const part = partOf(address, serviceDomain) as string
    const outcome = Object.hasOwn(outcomes, part) ? outcomes[part] : undefined
    return outcome ? [{ ...outcome, recipients: [address], at }] : []
  })
}

/** A send in test mode: no provider is asked. */
export const simulate = (mail: Mail, serviceDomain: string): Handover => {
  const reports = simulatedReports(mail, serviceDomain, mail.at)
  return {
    provider: 'simulator',
    providerMessageId: `test_${newId('message', mail.at.getTime())}`,
    ...(reports.length > 0 && { reports }),
  }
}
