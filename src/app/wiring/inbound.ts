/** Receiving: text messages and emails, their opt-outs and reads. */
import { makeLongSms } from '../inbound/long-sms.ts'
import { makeReadInbound } from '../inbound/read.ts'
import { makeRedactInbound } from '../inbound/retention.ts'
import { makeTakeEmail } from '../inbound/take-email.ts'
import { makeTakeSms } from '../inbound/take-sms.ts'
import type { Messages } from '../messages/open-messages.ts'
import type { Suppress } from '../suppressions/suppress.ts'
import type { Foundation } from './foundation.ts'

type Needs = { suppress: Suppress; messages: Messages }

export const makeInbound = (foundation: Foundation, { suppress, messages }: Needs) => {
  const { config, db, reads, clock, log, appendEvents } = foundation
  const takeSms = makeTakeSms({ db, clock, log, suppress, appendEvents, handovers: messages.sms.handovers })
  return {
    takeSms,
    ...makeLongSms({ db, clock, log, takeSms }),
    takeEmail: makeTakeEmail({ db, clock, log, appendEvents }),
    read: makeReadInbound({ db: reads.db }),
    redact: makeRedactInbound({ db, clock, contentDays: config.messageContentDays }),
  }
}
