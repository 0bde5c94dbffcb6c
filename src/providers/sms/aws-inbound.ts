/** Parses the messages from phones that AWS End User Messaging publishes to SNS. */
import { z } from 'zod'
import type { SnsMessage } from '../email/sns.ts'
import { makeSnsIntake, type SnsIntake, type SnsIntakeNeeds } from '../email/sns-intake.ts'
import type { InboundSms } from './sms-provider.ts'

const number = z.string().min(1).max(100)

const TwoWaySms = z.object({
  originationNumber: number,
  destinationNumber: number,
  messageBody: z.string().max(262_144).nullish(),
  inboundMessageId: z.string().min(1).max(200).optional(),
})

const parsePayload = (text: string): z.output<typeof TwoWaySms> | undefined => {
  try {
    return TwoWaySms.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

const parse = (message: SnsMessage): InboundSms | 'ignored' => {
  const payload = parsePayload(message.Message)
  if (!payload) return 'ignored'
  const published = new Date(message.Timestamp)
  return {
    provider: 'aws',
    id: payload.inboundMessageId ?? message.MessageId,
    from: payload.originationNumber,
    to: payload.destinationNumber,
    body: payload.messageBody ?? '',
    // AWS does not receive media.
    mediaUrl: [],
    at: Number.isNaN(published.getTime()) ? new Date(0) : published,
  }
}

export type SmsInboundIntake = SnsIntake<InboundSms>

export const makeSmsInboundIntake = (needs: SnsIntakeNeeds): SmsInboundIntake => makeSnsIntake(needs, parse)
