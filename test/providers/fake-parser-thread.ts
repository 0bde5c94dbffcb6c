/** In the place of the parser: returns the bytes as the subject. "forever" never ends, and "dies" ends its thread. */
import type { ParsedMail } from '../../src/interfaces/submission/parsed-mail.ts'
import { readMessages } from '../../src/interfaces/submission/read-messages.ts'

readMessages(async (bytes) => {
  const subject = Buffer.from(bytes).toString()
  if (subject === 'dies') process.exit(1)
  if (subject === 'bad') throw new Error('bad')
  if (subject.startsWith('forever')) for (;;);
  return { subject, attachments: [] as unknown } as ParsedMail
})
