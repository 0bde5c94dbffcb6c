import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  connectSmtp,
  message,
  outboxOf,
  type SmtpConnection,
  startMessage,
  startSubmissionService,
} from '../../../test/clients/submission-client.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import { makeLoneLineEndFinder } from './line-ends.ts'

type Service = Awaited<ReturnType<typeof startSubmissionService>>

const foundIn = (...chunks: string[]): boolean => {
  const find = makeLoneLineEndFinder()
  return chunks.map((chunk) => find(Buffer.from(chunk))).at(-1) ?? false
}

describe('the search for lone line ends', () => {
  const cases: [string, boolean][] = [
    ['a\r\nb\r\n\r\n', false],
    ['\r\n', false],
    ['ab', false],
    ['a\nb\r\n', true],
    ['\na', true],
    ['a\rb\r\n', true],
    ['a\r\r\n', true],
    ['a\r\n\n', true],
    ['a\n\r\n', true],
  ]
  test.each(cases)('of %j results in %j wherever the bytes are split', (text, expected) => {
    expect(foundIn(text)).toBe(expected)
    expect(foundIn(...text)).toBe(expected)
    for (let at = 0; at <= text.length; at++) {
      expect(foundIn(text.slice(0, at), '', text.slice(at)), `split at ${at}`).toBe(expected)
    }
  })
})

const lone = ['\n', '\r', '\n\r', '\r\r\n', '\n\n']
/** Sequences that some mail servers accept as the end of a message. */
const falseEnds = ['\n.\n', '\r.\r', '\n.\r\n', '\r.\r\n', '\r\n.\n', '\r\n.\r', '\r\n.\r\r\n', '\n.\r']

/** A message with another one after a sequence that does not end the first. */
const smuggling = (falseEnd: string) =>
  `${message('outer@example.com').trimEnd()}${falseEnd}MAIL FROM:<shop@example.test>\r\n` +
  `RCPT TO:<inner@example.com>\r\nDATA\r\n${message('inner@example.com')}`

const whole = ({ write }: SmtpConnection, text: string): void => write(text)
const bytewise = async ({ socket }: SmtpConnection, text: string): Promise<void> => {
  socket.setNoDelay(true)
  // A separate turn for each byte, so that each is a segment of its own.
  for (const byte of text) await new Promise((resolve) => socket.write(byte, () => setImmediate(resolve)))
}

const signIn = async (t: Service, org: CreatedOrg): Promise<SmtpConnection> => {
  const connection = await connectSmtp(t.port)
  onTestFinished(() => void connection.socket.destroy())
  expect(await connection.signIn(org.keys.live)).toMatch(/^235 /)
  return connection
}

/** Proves that the reply before was the only one, and that the connection accepts another message. */
const expectUsable = async (t: Service, connection: SmtpConnection, to: string) => {
  await startMessage(connection.command, to)
  connection.write(message(to))
  expect(await connection.command('.')).toMatch(/^250 2\.0\.0 msg_\w+$/)
  expect(await outboxOf(t, to)).toHaveLength(1)
}

const refusal =
  /^550 5\.6\.0 VALIDATION_ERROR message: Contains a CR or LF alone\. End every line with CRLF and send it again\. \(req_\w+\)$/

describe('a message with a lone CR or LF', () => {
  let t: Service
  let org: CreatedOrg
  beforeAll(async () => {
    t = await startSubmissionService()
    org = await t.org()
  })
  afterAll(() => t.stop())

  test.each(lone)('such as %j is refused, and the connection stays usable', async (lineEnd) => {
    const connection = await signIn(t, org)
    for (const body of [`a${lineEnd}b`, `${lineEnd}b`, `a${lineEnd}`]) {
      await startMessage(connection.command, 'lone@example.com')
      connection.write(message('lone@example.com', body))
      expect(await connection.command('.')).toMatch(refusal)
    }
    expect(await outboxOf(t, 'lone@example.com')).toEqual([])
    await expectUsable(t, connection, `after-${lone.indexOf(lineEnd)}@example.com`)
  })

  test('at the very start of the message is refused', async () => {
    const connection = await signIn(t, org)
    for (const start of ['\n', '\r', '.\n', '.\r', '\n.\r\n', '.\n.\r\n']) {
      await startMessage(connection.command, 'start@example.com')
      connection.write(start)
      connection.write(message('start@example.com'))
      expect(await connection.command('.'), JSON.stringify(start)).toMatch(refusal)
    }
    expect(await outboxOf(t, 'start@example.com')).toEqual([])
  })

  test('far behind the beginning is refused', async () => {
    const connection = await signIn(t, org)
    await startMessage(connection.command, 'far@example.com')
    connection.write(message('far@example.com', `${`${'x'.repeat(998)}\r\n`.repeat(3_000)}\nend`))
    expect(await connection.command('.')).toMatch(refusal)
    expect(await outboxOf(t, 'far@example.com')).toEqual([])
    await expectUsable(t, connection, 'after-far@example.com')
  })

  test.each(falseEnds)('cannot hide a second message behind %j', async (falseEnd) => {
    for (const transmit of [whole, bytewise]) {
      const connection = await signIn(t, org)
      await startMessage(connection.command, 'outer@example.com')
      await transmit(connection, `${smuggling(falseEnd)}.\r\n`)
      expect(await connection.reply()).toMatch(refusal)
      await expectUsable(t, connection, `next-${transmit.name}-${falseEnds.indexOf(falseEnd)}@example.com`)
    }
    expect(await outboxOf(t, 'outer@example.com')).toEqual([])
    expect(await outboxOf(t, 'inner@example.com')).toEqual([])
  })
})

test('with SMTP_ALLOW_BARE_LF a lone CR or LF is accepted, and still does not end the message', async () => {
  const t = await startSubmissionService({ env: { SMTP_ALLOW_BARE_LF: 'true' } })
  onTestFinished(t.stop)
  const org = await t.org()
  const connection = await signIn(t, org)
  for (const [index, falseEnd] of falseEnds.entries()) {
    await startMessage(connection.command, 'outer@example.com')
    connection.write(smuggling(falseEnd))
    expect(await connection.command('.'), JSON.stringify(falseEnd)).toMatch(/^250 2\.0\.0 msg_\w+$/)
    expect(await outboxOf(t, 'outer@example.com')).toHaveLength(index + 1)
    await expectUsable(t, connection, `after-${index}@example.com`)
  }
  expect(await outboxOf(t, 'inner@example.com')).toEqual([])
})
