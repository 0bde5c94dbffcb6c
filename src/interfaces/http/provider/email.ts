/** Receives delivery notifications from the email provider. */

import type { SesIntake } from '../../../providers/email/ses-notifications.ts'
import type { Outcomes } from '../../../sending/messages/outcomes.ts'
import type { Intake } from './intake.ts'

type Needs = {
  /** Undefined when no topic is configured. */
  ses: SesIntake | undefined
  outcomes: Outcomes
}

export const emailIntake = ({ ses, outcomes }: Needs): Intake => ({
  name: 'email',
  counts: 'bad signatures',
  take:
    ses &&
    (async (notification) => {
      const received = await ses.take(notification)
      if (received.kind === 'notification') {
        for (const { notificationId, ...report } of received.notifications) {
          await outcomes.take({ provider: 'ses', id: notificationId, ...report })
        }
      }
      return { status: received.kind }
    }),
})
