import type { Clock } from '../../../ground/clock.ts'
import { Failure } from '../../../ground/errors.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../email-draft.ts'

const second = 1_000
const pastToleranceMs = 5 * 60 * second
const maxAheadMs = 366 * 24 * 3_600 * second

/**
 * Validates `scheduled_at`. A time up to five minutes ago or one second ahead sends the message immediately. A later
 * time schedules it, which allows one recipient and no attachments.
 */
export const scheduleGate = (clock: Clock): Gate<EmailDraft> => ({
  name: 'schedule',
  at: ['single'],
  check: (draft) => {
    if (!draft.scheduledAt) return
    const ahead = draft.scheduledAt.getTime() - clock.millis()
    if (ahead < -pastToleranceMs) throw new Failure('SCHEDULED_AT_IN_PAST')
    if (ahead > maxAheadMs) throw new Failure('SCHEDULED_AT_TOO_FAR')
    if (ahead <= second) {
      draft.scheduledAt = null
      return
    }
    if (draft.to.length > 1) throw new Failure('SCHEDULED_SINGLE_RECIPIENT')
    if (draft.attachments.length > 0) throw new Failure('SCHEDULED_NO_ATTACHMENTS')
  },
})
