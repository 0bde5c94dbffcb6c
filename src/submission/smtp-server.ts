/** The SMTP server that mail clients submit messages to. */
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { SubmissionConfig } from '../ground/config/config.ts'
import { limitConnections } from './connection-limits.ts'
import { listenOn, readTlsPair, unsupportedCommands } from './listen-smtp.ts'
import { makeMailParser } from './mail-parser.ts'
import { makeReloadTls } from './reload-tls.ts'
import { makeSmtpHandlers } from './smtp-handlers.ts'
import { makeSubmit, type SubmitNeeds } from './submit.ts'

const megabyte = 1_048_576
const maxMessageBytes = 10 * megabyte
const maxConnections = 200
const idleMs = 60_000
/** When the service stops, a client has this long to send the rest of a message. */
const stopGraceMs = 5_000

export interface Submission {
  start(): Promise<void>
  /** The port it listens on. */
  port(): number
  /** Accepts nothing new. Messages that have arrived are sent, and their clients get a reply, before it resolves. */
  stop(): Promise<void>
}

type Needs = SubmitNeeds & { config: SubmissionConfig; production: boolean; serviceDomain: string }

export const makeSubmission = (needs: Needs): Submission => {
  const { config, production, serviceDomain, log } = needs
  const parser = makeMailParser()
  const tls = config.tls === 'off' ? undefined : { files: config, pair: readTlsPair(config) }
  const disabledCommands = config.tls === 'off' ? [...unsupportedCommands, 'STARTTLS'] : unsupportedCommands

  const disconnect = (matches: (id: string) => boolean, reply: string): void => {
    for (const connection of [...server.connections]) if (matches(connection.id)) connection.send(421, reply)
  }

  const { receiving, inFlight, handlers } = makeSmtpHandlers({
    submit: makeSubmit({ ...needs, parser }),
    log,
    disconnect,
    disabledCommands,
    // In production, AUTH is offered only after STARTTLS.
    requiresStartTls: config.tls === 'starttls' && production,
    allowBareLf: config.allowBareLf,
  })

  const server = new SMTPServer({
    ...tls?.pair,
    secure: config.tls === 'implicit',
    name: serviceDomain,
    banner: 'Tidings',
    size: maxMessageBytes,
    socketTimeout: idleMs,
    authMethods: ['PLAIN', 'LOGIN'],
    allowInsecureAuth: !production,
    authRequiredMessage: '5.7.0 UNAUTHORIZED Authentication required: the password must be a valid API key.',
    disabledCommands,
    disableReverseLookup: true,
    // onRcptTo rejects invalid addresses with the catalogue's error codes.
    lenientAddressParsing: true,
    logger: false,
    ...handlers,
  })
  // A client that disconnects in the middle of a command, or does not speak SMTP.
  server.on('error', (error) => log.debug({ err: error }, 'smtp connection failed'))
  limitConnections(server, {
    total: maxConnections,
    perAddress: config.maxConnectionsPerAddress,
    implicitTls: config.tls === 'implicit',
    log,
  })

  const reload = tls && makeReloadTls({ server, ...tls, log })

  return {
    start: async () => {
      await listenOn(server, config, { port: 'SMTP_SUBMISSION_PORT', host: 'SMTP_SUBMISSION_HOST' })
      reload?.start()
    },
    port: () => (server.server.address() as AddressInfo).port,
    stop: async () => {
      reload?.stop()
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
