/** The interface between the sending pipeline and SMS providers. */
import type { HandoverProvider } from '../handover.ts'

/** One text message to one recipient. With media it is an MMS. */
export type Sms = {
  orgId: string
  /** Identifies every attempt to send the message. */
  messageId: string
  /** A number in E.164 form, or an alphanumeric sender id. */
  from: string
  to: string
  body: string
  /** URIs such as s3://bucket/key. */
  mediaUrl: readonly string[]
  /** The registered ids of a message to India. Both are sent, or neither. */
  dlt: { entityId: string; templateId: string } | null
  messageType: 'transactional' | 'promotional'
  at: Date
  /** The body has a one-time code. `messageId` is then the id of the verification, and the body is never stored. */
  hasCode?: boolean | undefined
}

/** The place of a part in a long message that the network delivers in parts. */
export type SmsPart = {
  /** The sender's number of the message, the same in all its parts. */
  reference: string
  parts: number
  /** From 1. */
  part: number
}

/** A message from a phone. */
export type InboundSms = {
  provider: string
  /** The provider's id of the message. A repeated id is ignored. Null when the provider has none. */
  id: string | null
  from: string
  to: string
  body: string
  mediaUrl: readonly string[]
  /** The beginning of the message is missing, so its first word is not a keyword. */
  isContinuation?: boolean
  /** Set when this is a part of a long message. */
  part?: SmsPart
  at: Date
}

/** Resolves with false when the message was sent to a number that nobody has. */
export type OnInbound = (message: InboundSms) => Promise<boolean>

export type SmsProvider = HandoverProvider<Sms>
