import type { Clock } from '../../../ground/clock.ts'
import { Failure } from '../../../ground/errors.ts'
import type { Gate } from '../../draft.ts'
import { staysScheduled } from '../../schedule.ts'
import type { EmailDraft } from '../email-draft.ts'

/** Validates `scheduled_at`. A scheduled email has one recipient and no attachments. */
export const scheduleGate = (clock: Clock): Gate<EmailDraft> => ({
  name: 'schedule',
  at: ['single'],
  check: (draft) => {
    if (!staysScheduled(draft, clock)) return
    if (draft.to.length > 1) throw new Failure('SCHEDULED_SINGLE_RECIPIENT')
    if (draft.attachments.length > 0) throw new Failure('SCHEDULED_NO_ATTACHMENTS')
  },
})
