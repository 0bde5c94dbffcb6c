/** Receives what became of sent messages from the providers of email and text messages. */
import type { SentNotification, SnsIntake } from '../../../providers/email/sns-intake.ts'
import type { Outcomes } from '../../../sending/messages/outcomes.ts'
import type { Intake } from './intake.ts'

/** `reports` is undefined when no topic is configured. */
type Needs = { provider: 'ses' | 'aws'; reports: SnsIntake<SentNotification> | undefined; outcomes: Outcomes }

export const reportIntake = (name: 'email' | 'sms', { provider, reports, outcomes }: Needs): Intake => ({
  name,
  counts: 'bad signatures',
  take:
    reports &&
    (async (notification) => {
      const received = await reports.take(notification)
      if (received.kind === 'notification') {
        for (const { notificationId, ...report } of received.notifications) {
          await outcomes.take({ provider, id: notificationId, ...report })
        }
      }
      return { status: received.kind }
    }),
})
