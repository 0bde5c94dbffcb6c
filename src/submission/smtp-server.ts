/** The SMTP server: listens for mail clients, limits their connections, and passes each step to `submit`. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createSecureContext } from 'node:tls'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import type { SubmissionConfig } from '../ground/config.ts'
import { Failure, invalid, malformed } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import { parseIp } from '../ground/ip-address.ts'
import { parseMailbox } from '../ground/mailbox.ts'
import { withRequestId } from '../ground/request-context.ts'
import { makeMailParser } from './mail-parser.ts'
import { asFailure, type Stage, smtpRefusal } from './reply.ts'
import { type AuthenticatedSession, makeSubmit, type SubmitNeeds } from './submit.ts'

const megabyte = 1_048_576
export const maxMessageBytes = 10 * megabyte
const maxRecipients = 50
const maxConnections = 200
const idleMs = 60_000
/** An unauthenticated client is disconnected after this time. */
const authDeadlineMs = 60_000
/** A client that sends its message too slowly is disconnected after this time. */
const receiveDeadlineMs = 10 * 60_000
const maxAuthFailures = 5
/** When the service stops, a client has this long to send the rest of a message. */
const stopGraceMs = 5_000

/** A configuration error that the operator can fix. Reported at startup. */
export class SubmissionFault extends Error {}

export interface Submission {
  start(): Promise<void>
  /** The port it listens on. */
  port(): number
  /** Accepts nothing new. Messages that have arrived are sent, and their clients get a reply, before it resolves. */
  stop(): Promise<void>
}

const readTlsFile = (variable: string, file: string): Buffer => {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new SubmissionFault(`${variable} ${file} cannot be read: ${(error as Error).message}`)
  }
}

const tlsOptions = (config: SubmissionConfig): SMTPServerOptions => {
  if (config.tls === 'off') return {}
  const cert = readTlsFile('SMTP_SUBMISSION_TLS_CERT', config.certFile)
  const key = readTlsFile('SMTP_SUBMISSION_TLS_KEY', config.keyFile)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new SubmissionFault(
      `SMTP_SUBMISSION_TLS_CERT and SMTP_SUBMISSION_TLS_KEY do not match: ${(error as Error).message}`,
    )
  }
  return { cert, key, secure: config.tls === 'implicit' }
}

const listenFault = ({ host, port }: SubmissionConfig, error: NodeJS.ErrnoException): unknown => {
  if (error.code === 'EADDRINUSE') {
    return new SubmissionFault(`Port ${port} on ${host} is already in use. Set SMTP_SUBMISSION_PORT to a free port.`)
  }
  if (error.code === 'EACCES') {
    return new SubmissionFault(
      `This user is not allowed to listen on port ${port}. Set SMTP_SUBMISSION_PORT to another port.`,
    )
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new SubmissionFault(`SMTP_SUBMISSION_HOST ${host} is not an address of this machine.`)
  }
  return error
}

const addressOf = (session: SMTPServerSession): string | null => parseIp(session.remoteAddress)?.toString() ?? null

/** Resolves with the message, or undefined when it is too large. Rejects when the client disconnects before its end. */
const collect = (stream: SMTPServerDataStream): Promise<Buffer | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => {
      if (stream.sizeExceeded) chunks.length = 0
      else chunks.push(chunk)
    })
    stream.once('end', () => resolve(stream.sizeExceeded ? undefined : Buffer.concat(chunks)))
    stream.once('error', () => undefined)
    stream.once('close', () => reject(malformed('The connection closed before the end of the message.')))
  })

/** The same text with code 421, which closes the connection. */
const closingReply = ({ message }: Error): Error =>
  Object.assign(new Error(message.replace(/^\S+/, '4.7.0')), { responseCode: 421 })

const clientGone = (): Failure => malformed('The client disconnected before its message was read.')

const tooManyRecipients = (): Failure =>
  invalid(['to'], 'too_big', `Must be at most ${maxRecipients} recipients. Send to the others in a separate message.`)

/** Commands that the library implements and this server does not offer. */
const unsupportedCommands = ['WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD']

type Needs = SubmitNeeds & { config: SubmissionConfig; production: boolean; serviceDomain: string }

export const makeSubmission = (needs: Needs): Submission => {
  const { config, production, serviceDomain, log } = needs
  const parser = makeMailParser()
  const submit = makeSubmit({ ...needs, parser })
  // All keyed by session id.
  const authFailures = new Map<string, number>()
  const disconnects = new Map<string, AbortController>()
  const deadlines = new Map<string, NodeJS.Timeout>()
  const receiving = new Set<string>()
  const inFlight = new Map<string, Promise<void>>()

  const disconnect = (matches: (id: string) => boolean, reply: string): void => {
    for (const connection of [...server.connections]) if (matches(connection.id)) connection.send(421, reply)
  }

  const clearDeadline = ({ id }: SMTPServerSession): void => {
    clearTimeout(deadlines.get(id))
    deadlines.delete(id)
  }

  const setDeadline = (session: SMTPServerSession, ms: number): void => {
    clearDeadline(session)
    const onTimeout = () => disconnect((id) => id === session.id, '4.4.2 The session timed out.')
    deadlines.set(session.id, setTimeout(onTimeout, ms).unref())
  }

  /** Runs one step of the session. A thrown error becomes the reply, and is logged. */
  const step = async <T>(
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
        if (failure.code === 'INTERNAL_ERROR') {
          log.error({ ...fields, err: failure.cause ?? failure }, 'smtp command failed')
        } else log.info(fields, 'smtp command refused')
        return { refused: smtpRefusal(failure, stage, requestId) }
      }
    })
  }

  const authenticated = (session: SMTPServerSession): AuthenticatedSession => {
    const user = session.user as Pick<AuthenticatedSession, 'key' | 'orgId'> | undefined
    if (!user) throw new Failure('UNAUTHORIZED')
    return { ...user, address: addressOf(session), client: String(session.hostNameAppearsAs).slice(0, 255) }
  }

  const receive = async (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> => {
    const recipients = session.envelope.rcptTo.map(({ address }) => address)
    const bytes = await collect(stream).finally(() => {
      receiving.delete(session.id)
      clearDeadline(session)
    })
    if (!bytes) {
      throw new Failure('PAYLOAD_TOO_LARGE', { message: 'The message must be at most 10 MB.' })
    }
    const gone = disconnects.get(session.id)?.signal ?? AbortSignal.abort(clientGone())
    const id = await submit.send(authenticated(session), recipients, bytes, gone)
    log.info({ message_id: id, bytes: bytes.length, session: session.id }, 'email received over smtp')
    return id
  }

  // In production, AUTH is offered only after STARTTLS.
  const requiresStartTls = config.tls === 'starttls' && production
  const disabledCommands = config.tls === 'off' ? [...unsupportedCommands, 'STARTTLS'] : unsupportedCommands
  const awaitingStartTls = new Set<string>()

  const server = new SMTPServer({
    ...tlsOptions(config),
    name: serviceDomain,
    banner: 'Tidings',
    size: maxMessageBytes,
    maxClients: maxConnections,
    socketTimeout: idleMs,
    authMethods: ['PLAIN', 'LOGIN'],
    allowInsecureAuth: !production,
    authRequiredMessage: '5.7.0 UNAUTHORIZED Authentication required: the password must be a valid API key.',
    disabledCommands,
    disableReverseLookup: true,
    // onRcptTo rejects invalid addresses with the catalogue's error codes.
    lenientAddressParsing: true,
    logger: false,

    onConnect: (session, done) => {
      setDeadline(session, authDeadlineMs)
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
      clearDeadline(session)
      disconnects.get(session.id)?.abort(clientGone())
      disconnects.delete(session.id)
      authFailures.delete(session.id)
      awaitingStartTls.delete(session.id)
    },

    onAuth: async ({ password }, session, done) => {
      const by = { key: password ?? '', address: addressOf(session) }
      const outcome = await step('auth', session, () => submit.signIn(by))
      if ('done' in outcome) {
        clearDeadline(session)
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
      const outcome = await step('recipient', session, async () => {
        if (!parseMailbox(address)) throw malformed('Must be an email address.', ['to'])
        const accepted = session.envelope.rcptTo
        const isDuplicate = accepted.some((one) => one.address.toLowerCase() === address.toLowerCase())
        if (accepted.length >= maxRecipients && !isDuplicate) throw tooManyRecipients()
      })
      done('refused' in outcome ? outcome.refused : null)
    },
    onData: (stream, session, done) => {
      receiving.add(session.id)
      setDeadline(session, receiveDeadlineMs)
      const work = step('mail', session, () => receive(stream, session)).then((outcome) => {
        inFlight.delete(session.id)
        if ('refused' in outcome) done(outcome.refused)
        else done(null, `2.0.0 ${outcome.done}`)
      })
      inFlight.set(session.id, work)
    },
  })
  // A client that disconnects in the middle of a command, or does not speak SMTP.
  server.on('error', (error) => log.debug({ err: error }, 'smtp connection failed'))

  return {
    start: async () => {
      const listening = once(server.server, 'listening')
      server.listen(config.port, config.host)
      await listening.catch((error) => {
        throw listenFault(config, error)
      })
    },
    port: () => (server.server.address() as AddressInfo).port,
    stop: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(resolve)
      })
      const stopping = '4.3.2 The service is stopping.'
      disconnect((id) => !inFlight.has(id), stopping)
      const graceEnd = setTimeout(() => disconnect((id) => receiving.has(id), stopping), stopGraceMs)
      while (inFlight.size > 0) await Promise.all(inFlight.values())
      clearTimeout(graceEnd)
      disconnect(() => true, stopping)
      await closed
      await parser.close()
    },
  }
}
