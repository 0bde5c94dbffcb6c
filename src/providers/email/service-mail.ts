/** Emails from the service itself, sent through the same provider as customers' messages. */
import { type Clock, systemClock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import { blankMail, type EmailProvider } from './email-provider.ts'

type ServiceMail = {
  /** The org that the mail concerns. Null when it concerns a person without one. */
  orgId: string | null
  to: string
  subject: string
  text: string
  html: string | null
}

/** Throws a HandoverFault when the provider does not take the mail. */
export type SendServiceMail = (mail: ServiceMail) => Promise<void>

type Needs = { clock: Clock; provider: Pick<EmailProvider, 'send'>; serviceDomain: string }

export const makeSendServiceMail =
  ({ clock, provider, serviceDomain }: Needs): SendServiceMail =>
  async ({ orgId, to, subject, text, html }) => {
    await provider.send({
      ...blankMail,
      orgId: orgId ?? 'service',
      messageId: newId('message', clock.millis()),
      // Mail programs show this time, so it does not follow a clock that was moved.
      at: systemClock.now(),
      from: { address: `notices@${serviceDomain}`, name: 'Tidings' },
      subject,
      text,
      html,
      to: [{ address: to, name: null }],
      headers: { 'auto-submitted': 'auto-generated' },
      region: 'us-east-1',
    })
  }
