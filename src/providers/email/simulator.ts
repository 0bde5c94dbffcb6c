/** Simulator addresses, which produce a chosen outcome, and simulated sends in test mode. */
import { newId } from '../../platform/ground/ids.ts'
import { type Handover, noBounce, type Report } from '../handover.ts'
import type { Mail } from './email-provider.ts'
import { recipientsOf } from './stored-mail.ts'

type Outcome = Omit<Report, 'recipients' | 'at'>

const outcomes: Record<string, Outcome> = {
  delivered: { kind: 'delivered', detail: '250 2.0.0 Delivered by the simulator', ...noBounce },
  bounced: {
    kind: 'hard_bounce',
    detail: '550 5.1.1 No such mailbox (simulated)',
    bounceType: 'Permanent',
    bounceSubtype: 'General',
  },
  softbounced: {
    kind: 'soft_bounce',
    detail: '452 4.2.2 Mailbox full (simulated)',
    bounceType: 'Transient',
    bounceSubtype: 'MailboxFull',
  },
  complained: { kind: 'complaint', detail: 'abuse', ...noBounce },
}

/**
 * The scenario that a simulator address selects. Undefined for any other address. Text after a `+` is ignored. It
 * makes recipients distinct: one that bounced is suppressed, and the next test needs another.
 */
export const scenarioOf = (address: string, serviceDomain: string): string | undefined => {
  const lower = address.toLowerCase()
  const at = lower.lastIndexOf('@')
  if (!lower.startsWith('simulator.', at + 1)) return undefined
  if (lower.slice(at + 11) !== serviceDomain.toLowerCase()) return undefined
  const local = lower.slice(0, at)
  const plus = local.indexOf('+')
  return plus < 0 ? local : local.slice(0, plus)
}

/** One report for each simulator recipient of a mail. */
export const simulatedReports = (mail: Mail, serviceDomain: string, at: Date): Report[] => {
  const simulated = recipientsOf(mail).filter((address) => scenarioOf(address, serviceDomain) !== undefined)
  if (simulated.length === 0) return []
  return [...new Set(simulated)].flatMap((address) => {
    const scenario = scenarioOf(address, serviceDomain) as string
    const outcome = Object.hasOwn(outcomes, scenario) ? outcomes[scenario] : undefined
    return outcome ? [{ ...outcome, recipients: [address], at }] : []
  })
}

/** Simulates a send in test mode. No provider is called. */
export const simulate = (mail: Mail, serviceDomain: string): Handover => {
  const reports = simulatedReports(mail, serviceDomain, mail.at)
  return {
    provider: 'simulator',
    providerMessageId: `test_${newId('message', mail.at.getTime())}`,
    ...(reports.length > 0 && { reports }),
  }
}
