/** Receiving: text messages and emails, their opt-outs and reads. */

import type { Suppress } from '../../recipients/suppressions/suppress.ts'
import { makeLongSms } from '../../sending/inbound/long-sms.ts'
import { makeReadInbound } from '../../sending/inbound/read.ts'
import { makeRedactInbound } from '../../sending/inbound/retention.ts'
import { makeTakeEmail } from '../../sending/inbound/take-email.ts'
import { makeTakeSms } from '../../sending/inbound/take-sms.ts'
import type { Messages } from '../../sending/messages/open-messages.ts'
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
