/** The mailboxes of inbound domains: every address of a verified domain that receives mail. */
import type { Clock } from '../../platform/ground/clock.ts'
import { comparableAddress, domainPart } from '../../platform/ground/mailbox.ts'
import type { InboundDomain } from '../../sending/inbound/store/inbound-rows.ts'
import type { TakeEmail } from '../../sending/inbound/take-email.ts'
import { receivedEmailOf } from '../submission/received-email.ts'
import type { FindMailbox } from './mailboxes.ts'

/** An email is in memory while it is parsed. */
const maxBytes = 10 * 1_048_576

type Needs = {
  findDomain(name: string): Promise<InboundDomain | undefined>
  takeEmail: TakeEmail
  clock: Clock
}

export const makeFindInboundDomain =
  ({ findDomain, takeEmail, clock }: Needs): FindMailbox =>
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
