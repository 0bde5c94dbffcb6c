/** Handles the commands of SMTP sessions: limits each session and passes its messages to `submit`. */
import type { SMTPServerDataStream, SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { Failure, invalid, isUnlogged, malformed } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { parseIp } from '../../platform/ground/ip-address.ts'
import type { Log } from '../../platform/ground/log.ts'
import { parseMailbox } from '../../platform/ground/mailbox.ts'
import { withRequestId } from '../../platform/ground/request-context.ts'
import { makeLoneLineEndFinder } from './line-ends.ts'
import { asFailure, loneLineEnd, type Stage, smtpRefusal } from './reply.ts'
import type { Disconnect } from './smtp-port.ts'
import type { AuthenticatedSession, Submit } from './submit.ts'

const maxRecipients = 50
/** An unauthenticated client is disconnected after this time. */
const authDeadlineMs = 60_000
/** A client that sends its message too slowly is disconnected after this time. */
const receiveDeadlineMs = 10 * 60_000
const maxAuthFailures = 5

type Needs = {
  submit: Submit
  log: Log
  disconnect: Disconnect
  disabledCommands: string[]
  requiresStartTls: boolean
  /** Accepts messages with a lone CR or LF. */
  allowBareLf: boolean
}

const addressOf = (session: SMTPServerSession): string | null => parseIp(session.remoteAddress)?.toString() ?? null

const authenticated = (session: SMTPServerSession): AuthenticatedSession => {
  const user = session.user as Pick<AuthenticatedSession, 'key' | 'orgId'> | undefined
  if (!user) throw new Failure('UNAUTHORIZED')
  return { ...user, address: addressOf(session), client: String(session.hostNameAppearsAs).slice(0, 255) }
}

const tooLarge = (): Failure => new Failure('PAYLOAD_TOO_LARGE', { message: 'The message must be at most 10 MB.' })

/**
 * Resolves with the message. Rejects at its end when it is too large or contains a lone CR or LF, and earlier when the
 * client disconnects. A rejected message is read to its end and not kept.
 */
const collect = (stream: SMTPServerDataStream, allowBareLf: boolean): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const hasLoneLineEnd = allowBareLf ? () => false : makeLoneLineEndFinder()
    let invalidLineEnd = false
    stream.on('data', (chunk: Buffer) => {
      invalidLineEnd = hasLoneLineEnd(chunk)
      if (stream.sizeExceeded || invalidLineEnd) chunks.length = 0
      else chunks.push(chunk)
    })
    stream.once('end', () => {
      if (stream.sizeExceeded) reject(tooLarge())
      else if (invalidLineEnd) reject(loneLineEnd())
      else resolve(Buffer.concat(chunks))
    })
    stream.once('error', () => undefined)
    stream.once('close', () => reject(malformed('The connection closed before the end of the message.')))
  })

/** The same text with code 421, which closes the connection. */
const closingReply = ({ message }: Error): Error =>
  Object.assign(new Error(message.replace(/^\S+/, '4.7.0')), { responseCode: 421 })

const clientGone = (): Failure => malformed('The client disconnected before its message was read.')

const checkRecipient = (address: string, { envelope }: SMTPServerSession): void => {
  if (!parseMailbox(address)) throw malformed('Must be an email address.', ['to'])
  const accepted = envelope.rcptTo
  const isDuplicate = accepted.some((one) => one.address.toLowerCase() === address.toLowerCase())
  if (accepted.length < maxRecipients || isDuplicate) return
  const message = `Must be at most ${maxRecipients} recipients. Send to the others in a separate message.`
  throw invalid(['to'], 'too_big', message)
}

/** Disconnects a session that has not cleared its deadline in time. A session has one deadline at a time. */
const makeDeadlines = (disconnect: Disconnect) => {
  const timers = new Map<string, NodeJS.Timeout>()
  const clear = ({ id }: SMTPServerSession): void => {
    clearTimeout(timers.get(id))
    timers.delete(id)
  }
  const set = (session: SMTPServerSession, ms: number): void => {
    clear(session)
    const onTimeout = () => disconnect((id) => id === session.id, '4.4.2 The session timed out.')
    timers.set(session.id, setTimeout(onTimeout, ms).unref())
  }
  return { set, clear }
}

/** Runs one step of a session. A thrown error becomes the reply, and is logged. */
const makeStep =
  (log: Log) =>
  async <T>(
    stage: Stage,
    session: SMTPServerSession,
    work: () => Promise<T>,
  ): Promise<{ done: T } | { refused: Error }> => {
    const requestId = newId('request')
    return withRequestId(requestId, async () => {
      try {
        return { done: await work() }
      } catch (error) {
        const failure = asFailure(error)
        const fields = { stage, code: failure.code, request_id: requestId, session: session.id }
        if (isUnlogged(failure)) {
          log.error({ ...fields, err: failure.cause ?? failure }, 'smtp command failed')
        } else log.info(fields, 'smtp command refused')
        return { refused: smtpRefusal(failure, stage, requestId) }
      }
    })
  }

export const makeSmtpHandlers = (needs: Needs) => {
  const { submit, log, disconnect, disabledCommands, requiresStartTls, allowBareLf } = needs
  const step = makeStep(log)
  const deadlines = makeDeadlines(disconnect)
  // Keyed by session id, like every collection here.
  const authFailures = new Map<string, number>()
  const disconnects = new Map<string, AbortController>()
  const awaitingStartTls = new Set<string>()
  /** Sessions whose message has not arrived completely. */
  const receiving = new Set<string>()
  /** Sessions whose message is being received or sent. */
  const inFlight = new Map<string, Promise<void>>()

  const receive = async (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> => {
    const recipients = session.envelope.rcptTo.map(({ address }) => address)
    const bytes = await collect(stream, allowBareLf).finally(() => {
      receiving.delete(session.id)
      deadlines.clear(session)
    })
    const gone = disconnects.get(session.id)?.signal ?? AbortSignal.abort(clientGone())
    const id = await submit.send(authenticated(session), recipients, bytes, gone)
    log.info({ message_id: id, bytes: bytes.length, session: session.id }, 'email received over smtp')
    return id
  }

  const handlers = {
    onConnect: (session, done) => {
      deadlines.set(session, authDeadlineMs)
      disconnects.set(session.id, new AbortController())
      if (requiresStartTls) {
        awaitingStartTls.add(session.id)
        session.disabledCommands = [...disabledCommands, 'AUTH']
      }
      done()
    },
    onSecure: (_socket, session, done) => {
      awaitingStartTls.delete(session.id)
      session.disabledCommands = undefined
      done()
    },
    onClose: (session) => {
      deadlines.clear(session)
      disconnects.get(session.id)?.abort(clientGone())
      disconnects.delete(session.id)
      authFailures.delete(session.id)
      awaitingStartTls.delete(session.id)
    },

    onAuth: async ({ username, password }, session, done) => {
      const by = { user: username ?? '', key: password ?? '', address: addressOf(session) }
      const outcome = await step('auth', session, () => submit.signIn(by))
      if ('done' in outcome) {
        deadlines.clear(session)
        return done(null, { user: { key: by.key, orgId: outcome.done } })
      }
      const failures = (authFailures.get(session.id) ?? 0) + 1
      authFailures.set(session.id, failures)
      done(failures < maxAuthFailures ? outcome.refused : closingReply(outcome.refused))
    },
    onMailFrom: async (_address, session, done) => {
      if (awaitingStartTls.has(session.id)) {
        const reply = '5.7.0 UNAUTHORIZED Encryption required: issue STARTTLS first.'
        return done(Object.assign(new Error(reply), { responseCode: 530 }))
      }
      const outcome = await step('mail', session, async () => submit.begin(authenticated(session)))
      done('refused' in outcome ? outcome.refused : null)
    },
    onRcptTo: async ({ address }, session, done) => {
      const outcome = await step('recipient', session, async () => checkRecipient(address, session))
      done('refused' in outcome ? outcome.refused : null)
    },
    onData: (stream, session, done) => {
      receiving.add(session.id)
      deadlines.set(session, receiveDeadlineMs)
      const work = step('mail', session, () => receive(stream, session)).then((outcome) => {
        inFlight.delete(session.id)
        if ('refused' in outcome) done(outcome.refused)
        else done(null, `2.0.0 ${outcome.done}`)
      })
      inFlight.set(session.id, work)
    },
  } satisfies SMTPServerOptions

  return { handlers, inFlight, isReceiving: (id: string) => receiving.has(id) }
}
