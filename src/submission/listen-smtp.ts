/** What every SMTP port needs at start: its certificate, its socket, and messages about what prevents either. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { SMTPServer } from 'smtp-server'

/** A configuration error that the operator can fix. Reported at startup. */
export class SubmissionFault extends Error {}

/** Commands that the library implements and this service does not offer. */
export const unsupportedCommands = ['WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD']

const readTlsFile = (variable: string, file: string): Buffer => {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new SubmissionFault(`${variable} ${file} cannot be read: ${(error as Error).message}`)
  }
}

export const readTlsPair = (files: { certFile: string; keyFile: string }): { cert: Buffer; key: Buffer } => {
  const cert = readTlsFile('SMTP_SUBMISSION_TLS_CERT', files.certFile)
  const key = readTlsFile('SMTP_SUBMISSION_TLS_KEY', files.keyFile)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new SubmissionFault(
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
    return new SubmissionFault(`Port ${port} on ${host} is already in use. Set ${variables.port} to a free port.`)
  }
  if (error.code === 'EACCES') {
    return new SubmissionFault(
      `This user is not allowed to listen on port ${port}. Set ${variables.port} to another port.`,
    )
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new SubmissionFault(`${variables.host} ${host} is not an address of this machine. Set it to one that is.`)
  }
  return error
}

/** Resolves when the server accepts connections. */
export const listenOn = async (server: SMTPServer, listen: Listen, variables: ListenVariables): Promise<void> => {
  const listening = once(server.server, 'listening')
  server.listen(listen.port, listen.host)
  await listening.catch((error) => {
    throw listenFault(listen, variables, error)
  })
}
