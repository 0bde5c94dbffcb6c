import type { Clock } from '../../../ground/clock.ts'
import { Failure } from '../../../ground/errors.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../email-draft.ts'

const second = 1_000
const graceMs = 5 * 60 * second
const furthestMs = 366 * 24 * 3_600 * second

/** A time that is as good as now sends at once; any other makes the message wait, with rules of its own. */
export const scheduleGate = (clock: Clock): Gate<EmailDraft> => ({
  name: 'schedule',
  at: ['single'],
  check: (draft) => {
    if (!draft.scheduledAt) return
    const ahead = draft.scheduledAt.getTime() - clock.millis()
    if (ahead < -graceMs) throw new Failure('SCHEDULED_AT_IN_PAST')
    if (ahead > furthestMs) throw new Failure('SCHEDULED_AT_TOO_FAR')
    if (ahead <= second) {
      draft.scheduledAt = null
      return
    }
    if (draft.to.length > 1) throw new Failure('SCHEDULED_SINGLE_RECIPIENT')
    if (draft.attachments.length > 0) throw new Failure('SCHEDULED_NO_ATTACHMENTS')
  },
})
