import { PassThrough } from 'node:stream'
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { expect, test } from 'vitest'
import { silentLog } from '../../platform/ground/log.ts'
import type { MailParser } from '../submission/mail-parser.ts'
import type { ParsedMail } from '../submission/parsed-mail.ts'
import { makeInboundHandlers } from './inbound-handlers.ts'

const kilobytes = (n: number): Buffer => Buffer.alloc(n * 1_024, 'x')

const open = () => {
  const parsed: number[] = []
  const parser: MailParser = {
    parse: async (bytes) => {
      parsed.push(bytes.length / 1_024)
      return {} as ParsedMail
    },
    close: async () => undefined,
  }
  const { handlers } = makeInboundHandlers({
    mailboxes: [async () => ({ orgId: 'org', wholeUpTo: 4 * 1_048_576, receive: async () => undefined })],
    parser,
    log: silentLog(),
    disconnect: () => undefined,
    maxHeldBytes: 2 * 1_048_576,
  })
  let sessions = 0
  /** Begins a message. `end` resolves with the reply to it. */
  const begin = async () => {
    const session = { id: `s${++sessions}`, envelope: { rcptTo: [] } } as unknown as SMTPServerSession
    await new Promise<void>((resolve) => {
      void handlers.onRcptTo({ address: 'a@b.test' } as SMTPServerAddress, session, () => resolve())
    })
    const stream = new PassThrough()
    const reply = new Promise<string>((resolve) => {
      handlers.onData(stream as unknown as SMTPServerDataStream, session, (error, text) =>
        resolve(error ? error.message : String(text)),
      )
    })
    return {
      write: (bytes: Buffer) => new Promise<void>((resolve) => stream.write(bytes, () => resolve())),
      end: () => {
        stream.end()
        return reply
      },
    }
  }
  return { begin, parsed }
}

test('Messages that are received at once share a bound: a large one over it is refused for now, small ones are not', async () => {
  const { begin, parsed } = open()
  const [first, second, small] = [await begin(), await begin(), await begin()]
  await first.write(kilobytes(1_500))
  await second.write(kilobytes(400))
  await second.write(kilobytes(400))
  await small.write(kilobytes(300))
  expect(await second.end()).toBe('4.3.0 The message could not be processed. Try again later.')
  expect([await small.end(), await first.end()]).toEqual(['2.0.0 Accepted.', '2.0.0 Accepted.'])
  // What was held is free again.
  const later = await begin()
  await later.write(kilobytes(2_000))
  expect(await later.end()).toBe('2.0.0 Accepted.')
  expect(parsed).toEqual([300, 1_500, 2_000])
})
