/** The SMTP server that other mail servers deliver bounces and complaints to. */
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { InboundSmtpConfig } from '../ground/config/config.ts'
import type { Log } from '../ground/log.ts'
import { limitConnections } from '../submission/connection-limits.ts'
import { listenOn, readTlsPair, unsupportedCommands } from '../submission/listen-smtp.ts'
import { makeMailParser } from '../submission/mail-parser.ts'
import { makeReloadTls } from '../submission/reload-tls.ts'
import { makeInboundHandlers } from './inbound-handlers.ts'
import type { FindMailbox } from './mailboxes.ts'

/** Larger than any message that a relay returns whole. */
const maxMessageBytes = 50 * 1_048_576
const maxConnections = 100
const idleMs = 60_000
/** When the service stops, a server has this long to send the rest of a message. */
const stopGraceMs = 5_000

export interface InboundSmtp {
  start(): Promise<void>
  /** The port it listens on. */
  port(): number
  /** Accepts nothing new. Messages that have arrived are recorded before it resolves. */
  stop(): Promise<void>
}

type Needs = { config: InboundSmtpConfig; host: string; mailboxes: readonly FindMailbox[]; log: Log }

export const makeInboundSmtp = ({ config, host, mailboxes, log }: Needs): InboundSmtp => {
  const parser = makeMailParser()
  const tls = config.tls && { files: config.tls, pair: readTlsPair(config.tls) }
  const disconnect = (matches: (id: string) => boolean, reply: string): void => {
    for (const connection of [...server.connections]) if (matches(connection.id)) connection.send(421, reply)
  }
  const { handlers, inFlight } = makeInboundHandlers({
    mailboxes,
    parser,
    log,
    disconnect: (session, reply) => disconnect((id) => id === session, reply),
  })
  const server = new SMTPServer({
    ...tls?.pair,
    name: host,
    banner: 'Tidings',
    size: maxMessageBytes,
    socketTimeout: idleMs,
    authOptional: true,
    disabledCommands: ['AUTH', ...unsupportedCommands, ...(config.tls ? [] : ['STARTTLS'])],
    disableReverseLookup: true,
    lenientAddressParsing: true,
    logger: false,
    ...handlers,
  })
  server.on('error', (error) => log.debug({ err: error }, 'inbound smtp connection failed'))
  limitConnections(server, {
    total: maxConnections,
    perAddress: config.maxConnectionsPerAddress,
    implicitTls: false,
    log,
    replacedReply: '4.3.2 Too many connections. Try again later.',
  })

  const reload = tls && makeReloadTls({ server, ...tls, log })

  return {
    start: async () => {
      await listenOn(server, config, { port: 'INBOUND_SMTP_PORT', host: 'INBOUND_SMTP_HOST' })
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
      const graceEnd = setTimeout(() => disconnect(() => true, stopping), stopGraceMs)
      while (inFlight.size > 0) await Promise.all(inFlight.values())
      clearTimeout(graceEnd)
      disconnect(() => true, stopping)
      await closed
      await parser.close()
    },
  }
}
