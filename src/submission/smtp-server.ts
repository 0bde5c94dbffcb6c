/** Listens for mail programs: connections, their bounds, and what each step of the conversation asks of `submit`. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createSecureContext } from 'node:tls'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import type { SubmissionConfig } from '../ground/config/config.ts'
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
/** A stranger may hold a connection this long. */
const signInWithinMs = 60_000
/** A message that trickles in holds one too. */
const receiveWithinMs = 10 * 60_000
const failuresPerConnection = 5
/** How long a client may still take, once the service stops, to send the rest of a message. */
const lingerMs = 5_000

/** Something the operator can mend, said at the start. */
export class SubmissionFault extends Error {}

export interface Submission {
  start(): Promise<void>
  /** The port it listens on. */
  port(): number
  /** Takes nothing new; messages that have arrived are sent and answered first. */
  stop(): Promise<void>
}

const read = (variable: string, file: string): Buffer => {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new SubmissionFault(`${variable} ${file} cannot be read: ${(error as Error).message}`)
  }
}

const tlsOptions = (config: SubmissionConfig): SMTPServerOptions => {
  if (config.tls === 'off') return {}
  const cert = read('SMTP_SUBMISSION_TLS_CERT', config.certFile)
  const key = read('SMTP_SUBMISSION_TLS_KEY', config.keyFile)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new SubmissionFault(
      `SMTP_SUBMISSION_TLS_CERT and SMTP_SUBMISSION_TLS_KEY do not make a pair: ${(error as Error).message}`,
    )
  }
  return { cert, key, secure: config.tls === 'implicit' }
}

const listenFault = ({ host, port }: SubmissionConfig, error: NodeJS.ErrnoException): unknown => {
  if (error.code === 'EADDRINUSE') {
    return new SubmissionFault(`Port ${port} on ${host} is taken. Set SMTP_SUBMISSION_PORT to a free one.`)
  }
  if (error.code === 'EACCES') {
    return new SubmissionFault(`Port ${port} needs privileges this user lacks. Set SMTP_SUBMISSION_PORT anew.`)
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new SubmissionFault(`SMTP_SUBMISSION_HOST ${host} is not an address of this machine.`)
  }
  return error
}

const addressOf = (session: SMTPServerSession): string | null => parseIp(session.remoteAddress)?.toString() ?? null

/** The whole message; undefined when it is too large, rejected when its client went away before the end of it. */
const collect = (stream: SMTPServerDataStream): Promise<Buffer | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => {
      if (stream.sizeExceeded) chunks.length = 0
      else chunks.push(chunk)
    })
    stream.once('end', () => resolve(stream.sizeExceeded ? undefined : Buffer.concat(chunks)))
    stream.once('error', () => undefined)
    stream.once('close', () => reject(malformed('The message was cut off.')))
  })

/** The same words, and the connection ends with them. */
const lastRefusal = ({ message }: Error): Error =>
  Object.assign(new Error(message.replace(/^\S+/, '4.7.0')), { responseCode: 421 })

const clientGone = (): Failure => malformed('The client left before its message was read.')

const tooManyRecipients = (): Failure =>
  invalid(['to'], 'too_big', `Takes at most ${maxRecipients} recipients. Send the message to the others by itself.`)

/** Commands of a joke that is older than most mail programs. */
const neverTaken = ['WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD']

type Needs = SubmitNeeds & { config: SubmissionConfig; production: boolean; serviceDomain: string }

export const makeSubmission = (needs: Needs): Submission => {
  const { config, production, serviceDomain, log } = needs
  const parser = makeMailParser()
  const submit = makeSubmit({ ...needs, parser })
  const failures = new Map<string, number>()
  const leaving = new Map<string, AbortController>()
  const deadlines = new Map<string, NodeJS.Timeout>()
  const receiving = new Set<string>()
  const inFlight = new Map<string, Promise<void>>()

  const hangUp = (chosen: (id: string) => boolean, why: string): void => {
    for (const connection of [...server.connections]) if (chosen(connection.id)) connection.send(421, why)
  }

  const disarm = ({ id }: SMTPServerSession): void => {
    clearTimeout(deadlines.get(id))
    deadlines.delete(id)
  }

  const arm = (session: SMTPServerSession, ms: number): void => {
    disarm(session)
    const late = () => hangUp((id) => id === session.id, '4.4.2 This takes too long.')
    deadlines.set(session.id, setTimeout(late, ms).unref())
  }

  /** Runs a step; what it throws becomes the reply, and what is no refusal is logged. */
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
        const told = { stage, code: failure.code, request_id: requestId, session: session.id }
        if (failure.code === 'INTERNAL_ERROR') {
          log.error({ ...told, err: failure.cause ?? failure }, 'an SMTP step failed')
        } else log.info(told, 'an SMTP step was refused')
        return { refused: smtpRefusal(failure, stage, requestId) }
      }
    })
  }

  const signedIn = (session: SMTPServerSession): AuthenticatedSession => {
    const user = session.user as Pick<AuthenticatedSession, 'key' | 'orgId'> | undefined
    if (!user) throw new Failure('UNAUTHORIZED')
    return { ...user, address: addressOf(session), client: String(session.hostNameAppearsAs).slice(0, 255) }
  }

  const receive = async (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> => {
    const recipients = session.envelope.rcptTo.map(({ address }) => address)
    const bytes = await collect(stream).finally(() => {
      receiving.delete(session.id)
      disarm(session)
    })
    if (!bytes) {
      throw new Failure('PAYLOAD_TOO_LARGE', { message: 'A message takes at most 10 MB.' })
    }
    const gone = leaving.get(session.id)?.signal ?? AbortSignal.abort(clientGone())
    const id = await submit.send(signedIn(session), recipients, bytes, gone)
    log.info({ message_id: id, bytes: bytes.length, session: session.id }, 'a message came over SMTP')
    return id
  }

  // Unencrypted, a production service does not even offer to take a key.
  const withoutAuth = config.tls === 'starttls' && production
  const disabledCommands = config.tls === 'off' ? [...neverTaken, 'STARTTLS'] : neverTaken
  const notOffered = new Set<string>()

  const server = new SMTPServer({
    ...tlsOptions(config),
    name: serviceDomain,
    banner: 'Tidings',
    size: maxMessageBytes,
    maxClients: maxConnections,
    socketTimeout: idleMs,
    authMethods: ['PLAIN', 'LOGIN'],
    allowInsecureAuth: !production,
    authRequiredMessage: '5.7.0 UNAUTHORIZED Sign in first: the password is a valid API key.',
    disabledCommands,
    disableReverseLookup: true,
    // Which address is none is judged here, in the words of the catalogue.
    lenientAddressParsing: true,
    logger: false,

    onConnect: (session, done) => {
      arm(session, signInWithinMs)
      leaving.set(session.id, new AbortController())
      if (withoutAuth) {
        notOffered.add(session.id)
        session.disabledCommands = [...disabledCommands, 'AUTH']
      }
      done()
    },
    onSecure: (_socket, session, done) => {
      notOffered.delete(session.id)
      session.disabledCommands = undefined
      done()
    },
    onClose: (session) => {
      disarm(session)
      leaving.get(session.id)?.abort(clientGone())
      leaving.delete(session.id)
      failures.delete(session.id)
      notOffered.delete(session.id)
    },

    onAuth: async ({ password }, session, done) => {
      const by = { key: password ?? '', address: addressOf(session) }
      const outcome = await step('auth', session, () => submit.signIn(by))
      if ('done' in outcome) {
        disarm(session)
        return done(null, { user: { key: by.key, orgId: outcome.done } })
      }
      const failed = (failures.get(session.id) ?? 0) + 1
      failures.set(session.id, failed)
      done(failed < failuresPerConnection ? outcome.refused : lastRefusal(outcome.refused))
    },
    onMailFrom: async (_address, session, done) => {
      if (notOffered.has(session.id)) {
        return done(Object.assign(new Error('5.7.0 UNAUTHORIZED Issue STARTTLS first.'), { responseCode: 530 }))
      }
      const outcome = await step('mail', session, async () => submit.begin(signedIn(session)))
      done('refused' in outcome ? outcome.refused : null)
    },
    onRcptTo: async ({ address }, session, done) => {
      const outcome = await step('recipient', session, async () => {
        if (!parseMailbox(address)) throw malformed('Takes an email address.', ['to'])
        const known = session.envelope.rcptTo
        const isAgain = known.some((one) => one.address.toLowerCase() === address.toLowerCase())
        if (known.length >= maxRecipients && !isAgain) throw tooManyRecipients()
      })
      done('refused' in outcome ? outcome.refused : null)
    },
    onData: (stream, session, done) => {
      receiving.add(session.id)
      arm(session, receiveWithinMs)
      const work = step('mail', session, () => receive(stream, session)).then((outcome) => {
        inFlight.delete(session.id)
        if ('refused' in outcome) done(outcome.refused)
        else done(null, `2.0.0 ${outcome.done}`)
      })
      inFlight.set(session.id, work)
    },
  })
  // A client that leaves in the middle of a sentence, or speaks something else.
  server.on('error', (error) => log.debug({ err: error }, 'an SMTP connection failed'))

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
      const goodbye = '4.3.2 The service is stopping.'
      hangUp((id) => !inFlight.has(id), goodbye)
      const cut = setTimeout(() => hangUp((id) => receiving.has(id), goodbye), lingerMs)
      while (inFlight.size > 0) await Promise.all(inFlight.values())
      clearTimeout(cut)
      hangUp(() => true, goodbye)
      await closed
      await parser.close()
    },
  }
}
