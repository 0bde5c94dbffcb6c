/** Receives the events of the SMS provider about sent messages. */

import type { SmsEventIntake } from '../../../providers/sms/aws-events.ts'
import type { Outcomes } from '../../../sending/messages/outcomes.ts'
import type { Intake } from './intake.ts'

type Needs = {
  /** Undefined when no topic is configured. */
  events: SmsEventIntake | undefined
  outcomes: Outcomes
}

export const smsIntake = ({ events, outcomes }: Needs): Intake => ({
  name: 'sms',
  counts: 'bad signatures',
  take:
    events &&
    (async (notification) => {
      const received = await events.take(notification)
      if (received.kind === 'notification') {
        for (const { notificationId, ...report } of received.notifications) {
          await outcomes.take({ provider: 'aws', id: notificationId, ...report })
        }
      }
      return { status: received.kind }
    }),
})
