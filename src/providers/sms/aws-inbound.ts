/** Parses the messages from phones that AWS End User Messaging publishes to SNS. */
import { z } from 'zod'
import { firstTime, parseShape } from '../email/sns-intake.ts'
import type { InboundSms } from './sms-provider.ts'

const number = z.string().min(1).max(100)

const TwoWaySms = z.object({
  originationNumber: number,
  destinationNumber: number,
  messageBody: z.string().max(262_144).nullish(),
  inboundMessageId: z.string().min(1).max(200).optional(),
})

export const parseAwsInbound = parseShape(
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
