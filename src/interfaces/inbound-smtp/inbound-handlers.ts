/** Handles the commands of inbound SMTP sessions. Mail is accepted only for known mailboxes, and never relayed. */
import type { SMTPServerDataStream, SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { Failure, malformed } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { withRequestId } from '../../platform/ground/request-context.ts'
import type { MailParser } from '../submission/mail-parser.ts'
import type { Disconnect } from '../submission/smtp-port.ts'
import type { FindMailbox, InboundMailbox } from './mailboxes.ts'

/**
 * A report comes before the message that it returns, which can be large. The rest is read and dropped, so that memory is
 * bounded and no report is lost for the size of what it returns.
 */
const keptBytes = 524_288
/** Of all messages that are being received. Beyond this, a large message is refused for now. */
const defaultMaxHeldBytes = 64 * 1_048_576
/** A client is disconnected after this time, however many messages it has sent. */
const sessionMs = 5 * 60_000
const maxUnknownRecipients = 5

const refusal = (code: number, text: string): Error => Object.assign(new Error(text), { responseCode: code })

const unknownRecipient = () => refusal(550, '5.1.1 There is no such mailbox here.')
const oneRecipient = () => refusal(452, '4.5.3 Send to one recipient at a time.')
const tooLarge = () => refusal(552, '5.3.4 The message is too large.')
const unreadable = () => refusal(554, '5.6.0 The message is not valid MIME.')
const tryLater = () => refusal(451, '4.3.0 The message could not be processed. Try again later.')

type Collected = { bytes: Buffer; length: number }

/** Resolves with the bytes that `keep` accepts, and the length of the message, when all of it has arrived. */
const collect = (stream: SMTPServerDataStream, keep: (before: number, bytes: number) => number): Promise<Collected> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    stream.on('data', (chunk: Buffer) => {
      const kept = chunk.subarray(0, keep(length, chunk.length))
      length += chunk.length
      if (kept.length > 0) chunks.push(kept)
    })
    stream.once('end', () => resolve({ bytes: Buffer.concat(chunks), length }))
    stream.once('error', reject)
    stream.once('close', () => reject(malformed('The connection closed before the end of the message.')))
  })

const split = (address: string): [localPart: string, host: string] => {
  const at = address.lastIndexOf('@')
  return [address.slice(0, Math.max(at, 0)), address.slice(at + 1).toLowerCase()]
}

/** A message that cannot be parsed never will be. It is dropped, because its sender could not do anything about it. */
const isUnreadable = (error: unknown): boolean => error instanceof Failure && error.status < 429

type Needs = {
  /** Tried in order. */
  mailboxes: readonly FindMailbox[]
  parser: MailParser
  log: Log
  disconnect: Disconnect
  maxHeldBytes?: number
}

export const makeInboundHandlers = (needs: Needs) => {
  const { mailboxes, parser, log, disconnect, maxHeldBytes = defaultMaxHeldBytes } = needs
  // Keyed by session id, like every collection here.
  const recipients = new Map<string, InboundMailbox>()
  const unknown = new Map<string, number>()
  const deadlines = new Map<string, NodeJS.Timeout>()
  let heldBytes = 0
  /** Sessions whose message is being received or recorded. */
  const inFlight = new Map<string, Promise<void>>()

  const findMailbox = async (address: string): Promise<InboundMailbox | undefined> => {
    const [localPart, host] = split(address)
    for (const find of mailboxes) {
      const found = await find(localPart, host)
      if (found) return found
    }
    return undefined
  }

  const refuseUnknown = ({ id }: SMTPServerSession): Error => {
    const count = (unknown.get(id) ?? 0) + 1
    unknown.set(id, count)
    return count < maxUnknownRecipients ? unknownRecipient() : refusal(421, '4.7.0 Too many unknown recipients.')
  }

  /** Parses and delivers a message. Returns the refusal of one that its sender can do something about. */
  const deliver = async ({ bytes, length }: Collected, mailbox: InboundMailbox): Promise<Error | undefined> => {
    const { orgId, wholeUpTo } = mailbox
    if (wholeUpTo !== undefined && length > wholeUpTo) return tooLarge()
    try {
      await mailbox.receive(await parser.parse(bytes, { orgId }))
      return undefined
    } catch (error) {
      if (!isUnreadable(error)) throw error
      if (wholeUpTo !== undefined) return unreadable()
      log.info({ bytes: bytes.length }, 'mail to a return path dropped: it cannot be read')
      return undefined
    }
  }

  const receive = async (stream: SMTPServerDataStream, mailbox: InboundMailbox): Promise<Error | undefined> => {
    const limit = mailbox.wholeUpTo ?? keptBytes
    let own = 0
    let full = false
    // What does not fit is read and dropped: the client reads its reply only after the end of the message.
    const keep = (before: number, bytes: number): number => {
      const kept = Math.min(bytes, Math.max(limit - before, 0))
      full ||= before + kept > keptBytes && heldBytes + kept > maxHeldBytes
      if (full) return 0
      own += kept
      heldBytes += kept
      return kept
    }
    try {
      const collected = await collect(stream, keep)
      return full ? tryLater() : await deliver(collected, mailbox)
    } finally {
      heldBytes -= own
    }
  }

  /** Runs one step of a session under its own request id. An error that is not expected becomes a temporary reply. */
  const attempt = <T>(session: SMTPServerSession, work: () => Promise<T>): Promise<T | Error> => {
    const requestId = newId('request')
    return withRequestId(requestId, () =>
      work().catch((error: unknown) => {
        const fields = { request_id: requestId, session: session.id }
        if (error instanceof Failure) log.info({ ...fields, code: error.code }, 'inbound smtp command refused')
        else log.error({ ...fields, err: error }, 'inbound smtp command failed')
        return tryLater()
      }),
    )
  }

  const handlers = {
    onConnect: (session, done) => {
      const onTimeout = () => disconnect((id) => id === session.id, '4.4.2 The session timed out.')
      deadlines.set(session.id, setTimeout(onTimeout, sessionMs).unref())
      done()
    },
    onClose: ({ id }) => {
      clearTimeout(deadlines.get(id))
      deadlines.delete(id)
      recipients.delete(id)
      unknown.delete(id)
    },
    onMailFrom: (_address, session, done) => {
      recipients.delete(session.id)
      done()
    },
    onRcptTo: async ({ address }, session, done) => {
      if (session.envelope.rcptTo.length > 0) return done(oneRecipient())
      const found = await attempt(session, () => findMailbox(address))
      if (found instanceof Error) return done(found)
      if (!found) return done(refuseUnknown(session))
      recipients.set(session.id, found)
      done()
    },
    onData: (stream, session, done) => {
      const mailbox = recipients.get(session.id)
      if (!mailbox) return done(unknownRecipient())
      const work = attempt(session, () => receive(stream, mailbox)).then((failed) => {
        inFlight.delete(session.id)
        if (failed instanceof Error) done(failed)
        else done(null, '2.0.0 Accepted.')
      })
      inFlight.set(session.id, work)
    },
  } satisfies SMTPServerOptions

  // What has not arrived when the service stops is sent again by the other server.
  return { handlers, inFlight, isReceiving: () => true }
}
