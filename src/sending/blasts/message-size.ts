/** How large the stored messages of a send may be. */
import { Failure } from '../../platform/ground/errors.ts'
import type { MessageContent } from '../messages/channel-adapter.ts'

export const maxMessageBytes = 900_000
export const maxSendBytes = 500_000_000

const outsideLatin1 = /[^\0-\xff]/

type SizedParts = { [Part in 'subject' | 'html' | 'text' | 'headers']?: MessageContent[Part] | null }

/** The bytes of the message itself, and what it counts towards the size of the whole send. */
export const sizeOf = ({ subject = null, html = null, text = null, headers = null }: SizedParts) => {
  const json = JSON.stringify({ subject, html, text, headers })
  const bytes = Buffer.byteLength(json)
  // Only a text with one byte per character is not searched: searching costs more than counting.
  const wide = bytes !== json.length && outsideLatin1.test(json)
  return { bytes, counted: wide ? Math.max(bytes, 2 * json.length) : bytes }
}

/** Names the contact whose message exceeds a limit. */
export const tooLarge = (contactId: string, message: string, cause?: unknown): Failure =>
  new Failure('PAYLOAD_TOO_LARGE', {
    message: `Contact ${contactId}: ${message}`,
    errors: [{ path: ['contacts', contactId], code: 'too_large', message }],
    cause,
  })

/** Adds up the messages of a send and returns the sum. Rejects the first one that exceeds a limit. */
export const makeMeasure = () => {
  let total = 0
  return (contactId: string, content: Partial<MessageContent>): number => {
    const { bytes, counted } = sizeOf(content)
    if (bytes > maxMessageBytes) throw tooLarge(contactId, 'The message has more than 900,000 bytes.')
    total += counted
    if (total > maxSendBytes) throw tooLarge(contactId, 'With this message the send has more than 500,000,000 bytes.')
    return total
  }
}
