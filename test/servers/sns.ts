/** Simulates Amazon SNS. It signs independently of the code that verifies the signatures. */
import { createSign } from 'node:crypto'
import type { Replacements } from '../../src/app/wiring/replacements.ts'
import { type Signer, selfSigned } from '../providers/email.ts'

export type Fields = Record<string, string>

export const topic = 'arn:aws:sns:eu-west-1:123456789012:ses-events'
const certificateUrl = 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-abc.pem'

export type Sns = {
  overrides: Required<Pick<Replacements, 'sns'>>
  /** URLs of confirmed subscriptions. */
  visited: string[]
  signed(fields: Fields, by?: Signer): Fields
  notification(message: unknown, changes?: Fields): Fields
  confirmation(changes?: Fields): Fields
}

export const makeSns = async (): Promise<Sns> => {
  const own = await selfSigned('sns.amazonaws.com')
  const visited: string[] = []
  let count = 0
  return {
    visited,
    overrides: {
      sns: {
        fetchCertificate: async () => own.certificate,
        confirm: async (url) => {
          visited.push(url)
          return ''
        },
      },
    },
    signed: (fields, { key } = own) => {
      const order = ['Message', 'MessageId', 'Subject', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
      const text = order.flatMap((name) => (name in fields ? `${name}\n${fields[name]}\n` : [])).join('')
      const signature = createSign('RSA-SHA256').update(text).sign(key, 'base64')
      return { SigningCertURL: certificateUrl, ...fields, SignatureVersion: '2', Signature: signature }
    },
    notification: (message, changes = {}) => ({
      Type: 'Notification',
      MessageId: `sns-${count++}`,
      TopicArn: topic,
      Message: JSON.stringify(message),
      Timestamp: new Date().toISOString(),
      ...changes,
    }),
    confirmation: (changes = {}) => {
      const { TopicArn = topic } = changes
      return {
        Type: 'SubscriptionConfirmation',
        MessageId: `sns-${count++}`,
        TopicArn,
        Token: 'token',
        Message: 'You have chosen to subscribe',
        Timestamp: new Date().toISOString(),
        SubscribeURL: `https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${TopicArn}&Token=token`,
        ...changes,
      }
    },
  }
}

/** A notification of SES about a message, in its event format. */
export const sesEvent = (
  { orgId, messageId }: { orgId: string; messageId: string },
  eventType: 'Delivery' | 'Bounce' | 'Complaint',
  recipients: string[],
  more: Record<string, unknown> = {},
) => {
  const timestamp = new Date().toISOString()
  const listed = recipients.map((emailAddress) => ({
    emailAddress,
    diagnosticCode: '550 5.1.1 no such mailbox',
  }))
  return {
    eventType,
    mail: {
      timestamp,
      destination: recipients,
      tags: { 'tidings-org': [orgId], 'tidings-message': [messageId] },
    },
    ...(eventType === 'Delivery' && {
      delivery: { timestamp, recipients, smtpResponse: '250 2.0.0 accepted', ...more },
    }),
    ...(eventType === 'Bounce' && {
      bounce: {
        timestamp,
        bounceType: 'Permanent',
        bounceSubType: 'General',
        bouncedRecipients: listed,
        ...more,
      },
    }),
    ...(eventType === 'Complaint' && {
      complaint: { timestamp, complainedRecipients: listed, complaintFeedbackType: 'abuse', ...more },
    }),
  }
}
