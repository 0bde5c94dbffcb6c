/** Who receives mail over SMTP. Each kind of mailbox decides which addresses it knows. */
import type { Clock } from '../../platform/ground/clock.ts'
import { comparableAddress, domainPart } from '../../platform/ground/mailbox.ts'
import { megabyte } from '../../platform/ground/units.ts'
import type { InboundDomain } from '../../sending/inbound/store/inbound-rows.ts'
import type { TakeEmail } from '../../sending/inbound/take-email.ts'
import type { ReturnRef, ReturnTokens } from '../../sending/messages/email/return-token.ts'
import type { ParsedMail } from '../submission/parsed-mail.ts'
import { receivedEmailOf } from '../submission/received-email.ts'
import type { TakeReport } from './take-report.ts'

export type InboundMailbox = {
  /** Mail of one org is parsed one message at a time, so that it does not delay the mail of others. */
  orgId: string
  /** A message must be complete, with up to this number of bytes. Absent: its beginning is enough. */
  wholeUpTo?: number
  receive(mail: ParsedMail): Promise<void>
}

/** The mailbox of an address, or undefined if this kind does not know the address. */
export type FindMailbox = (localPart: string, host: string) => Promise<InboundMailbox | undefined>

type ReturnPathNeeds = {
  tokens: ReturnTokens
  takeReport: TakeReport
  /** The hosts of the service that receive bounces, in lower case. */
  hosts: ReadonlySet<string>
  /** Whether the host is the return path of a domain of the org. */
  isReturnHost(orgId: string, host: string): Promise<boolean>
}

/**
 * The return paths of sent mail. The token is checked first, so an address without a valid one costs no query. A token is
 * accepted at the service's own hosts and at those of its org, whose MX record points here.
 */
export const makeFindReturnPath = ({ tokens, takeReport, hosts, isReturnHost }: ReturnPathNeeds): FindMailbox => {
  const mailboxOf = (ref: ReturnRef): InboundMailbox => ({
    orgId: ref.orgId,
    receive: (mail) => takeReport(ref, mail),
  })
  return async (localPart, host) => {
    const ref = tokens.read(localPart)
    if (!ref) return undefined
    return hosts.has(host) || (await isReturnHost(ref.orgId, host)) ? mailboxOf(ref) : undefined
  }
}

/** An email is in memory while it is parsed. */
const maxBytes = 10 * megabyte

type DomainNeeds = {
  findDomain(name: string): Promise<InboundDomain | undefined>
  takeEmail: TakeEmail
  clock: Clock
}

/** The mailboxes of inbound domains: every address of a verified domain that receives mail. */
export const makeFindInboundDomain =
  ({ findDomain, takeEmail, clock }: DomainNeeds): FindMailbox =>
  async (localPart, host) => {
    const address = comparableAddress(`${localPart}@${host}`)
    const domain = address === undefined ? undefined : await findDomain(domainPart(address))
    if (address === undefined || !domain) return undefined
    return {
      orgId: domain.org_id,
      wholeUpTo: maxBytes,
      receive: async (mail) => {
        const arrival = { provider: 'smtp', recipients: [address], spamVerdict: null, at: clock.now() }
        await takeEmail(receivedEmailOf(mail, arrival))
      },
    }
  }
