/** Parses the messages from phones that AWS End User Messaging publishes to SNS. */
import { z } from 'zod'
import { firstTime, makeSnsIntake, parseShape, type SnsIntake, type SnsIntakeNeeds } from '../email/sns-intake.ts'
import type { InboundSms } from './sms-provider.ts'

const number = z.string().min(1).max(100)

const TwoWaySms = z.object({
  originationNumber: number,
  destinationNumber: number,
  messageBody: z.string().max(262_144).nullish(),
  inboundMessageId: z.string().min(1).max(200).optional(),
})

const parse = parseShape(
  TwoWaySms,
  (payload, message): InboundSms => ({
    provider: 'aws',
    id: payload.inboundMessageId ?? message.MessageId,
    from: payload.originationNumber,
    to: payload.destinationNumber,
    body: payload.messageBody ?? '',
    // AWS does not receive media.
    mediaUrl: [],
    at: firstTime(message.Timestamp),
  }),
)

export type SmsInboundIntake = SnsIntake<InboundSms>

export const makeSmsInboundIntake = (needs: SnsIntakeNeeds): SmsInboundIntake => makeSnsIntake(needs, parse)
