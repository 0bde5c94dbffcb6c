/** What both SMTP ports have in common: their certificate, their socket, limits of connections, and how they stop. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createSecureContext } from 'node:tls'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { Log } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { limitConnections } from './connection-limits.ts'
import type { MailParser } from './mail-parser.ts'
import { makeReloadTls, type TlsFiles, type TlsPair } from './reload-tls.ts'

/** Commands that the library implements and this service does not offer. */
const unsupportedCommands = ['WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD']

const readTlsFile = (variable: string, file: string): Buffer => {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new OperatorFault(`${variable} ${file} cannot be read: ${(error as Error).message}`)
  }
}

const readTlsPair = (files: TlsFiles): TlsPair => {
  const cert = readTlsFile('SMTP_SUBMISSION_TLS_CERT', files.certFile)
  const key = readTlsFile('SMTP_SUBMISSION_TLS_KEY', files.keyFile)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new OperatorFault(
      `SMTP_SUBMISSION_TLS_CERT and SMTP_SUBMISSION_TLS_KEY are not a valid pair: ${(error as Error).message}`,
    )
  }
  return { cert, key }
}

type Listen = { host: string; port: number }
/** The names of the variables that configure the port. */
type ListenVariables = { host: string; port: string }

const listenFault = ({ host, port }: Listen, variables: ListenVariables, error: NodeJS.ErrnoException): unknown => {
  if (error.code === 'EADDRINUSE') {
    return new OperatorFault(`Port ${port} on ${host} is already in use. Set ${variables.port} to a free port.`)
  }
  if (error.code === 'EACCES') {
    return new OperatorFault(
      `This user is not allowed to listen on port ${port}. Set ${variables.port} to another port.`,
    )
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new OperatorFault(`${variables.host} ${host} is not an address of this machine. Set it to one that is.`)
  }
  return error
}

/** Resolves when the server accepts connections. */
const listenOn = async (server: SMTPServer, listen: Listen, variables: ListenVariables): Promise<void> => {
  const listening = once(server.server, 'listening')
  server.listen(listen.port, listen.host)
  await listening.catch((error) => {
    throw listenFault(listen, variables, error)
  })
}

/** Sends a 421 reply to the sessions whose id matches, and closes them. */
export type Disconnect = (matches: (id: string) => boolean, reply: string) => void

type Handled = {
  handlers: SMTPServerOptions
  /** Sessions whose message is being received or handled. */
  inFlight: ReadonlyMap<string, Promise<void>>
  /** Whether the session has to send the rest of its message when the service stops. */
  isReceiving: (id: string) => boolean
}

type Needs = {
  listen: Listen & { maxConnectionsPerAddress: number }
  variables: ListenVariables
  tls: TlsFiles | undefined
  implicitTls?: boolean
  maxConnections: number
  /** Commands that this port does not offer. */
  withoutCommands?: string[]
  options: SMTPServerOptions
  /** The reply to a connection that loses its place to another one. */
  replacedReply?: string
  parser: MailParser
  log: Log
  /** The name of the port in the event that a connection failed. */
  name: string
  handle: (disconnect: Disconnect, disabledCommands: string[]) => Handled
}

const idleMs = 60_000
/** When the service stops, a client has this long to send the rest of a message. */
const stopGraceMs = 5_000

export const makeSmtpPort = (needs: Needs) => {
  const { listen, variables, tls: files, implicitTls = false, withoutCommands = [], parser, log, name } = needs
  const tls = files && { files, pair: readTlsPair(files) }
  const disabledCommands = [...unsupportedCommands, ...withoutCommands, ...(tls ? [] : ['STARTTLS'])]
  const disconnect: Disconnect = (matches, reply) => {
    for (const connection of [...server.connections]) if (matches(connection.id)) connection.send(421, reply)
  }
  const { handlers, inFlight, isReceiving } = needs.handle(disconnect, disabledCommands)
  const server = new SMTPServer({
    ...tls?.pair,
    banner: 'Tidings',
    socketTimeout: idleMs,
    disabledCommands,
    disableReverseLookup: true,
    // onRcptTo rejects invalid addresses.
    lenientAddressParsing: true,
    logger: false,
    secure: implicitTls,
    ...needs.options,
    ...handlers,
  })
  // A client that disconnects in the middle of a command, or does not speak SMTP.
  server.on('error', (error) => log.debug({ err: error }, `${name} connection failed`))
  limitConnections(server, {
    total: needs.maxConnections,
    perAddress: listen.maxConnectionsPerAddress,
    implicitTls,
    log,
    ...(needs.replacedReply !== undefined && { replacedReply: needs.replacedReply }),
  })
  const reload = tls && makeReloadTls({ server, ...tls, log })

  return {
    start: async (): Promise<void> => {
      await listenOn(server, listen, variables)
      reload?.start()
    },
    /** The port it listens on. */
    port: (): number => (server.server.address() as AddressInfo).port,
    /** Accepts nothing new. Messages that have arrived are handled, and their clients get a reply, before it resolves. */
    stop: async (): Promise<void> => {
      reload?.stop()
      const closed = new Promise<void>((resolve) => {
        server.close(resolve)
      })
      const stopping = '4.3.2 The service is stopping.'
      disconnect((id) => !inFlight.has(id), stopping)
      const graceEnd = setTimeout(() => disconnect(isReceiving, stopping), stopGraceMs)
      while (inFlight.size > 0) await Promise.all(inFlight.values())
      clearTimeout(graceEnd)
      disconnect(() => true, stopping)
      await closed
      await parser.close()
    },
  }
}

export type SmtpPort = ReturnType<typeof makeSmtpPort>
