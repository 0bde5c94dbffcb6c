import { pino } from 'pino'
import pretty from 'pino-pretty'
import { currentRequestId } from './request-context.ts'

export type Log = pino.Logger

/** Fields that never reach a log line, whatever object they arrive in. */
const secretPaths = [
  'authorization',
  'cookie',
  'key',
  'password',
  'secret',
  'token',
  'body',
  'headers.authorization',
  'headers.cookie',
  'req.headers.authorization',
  'req.headers.cookie',
]

type FromDatabase = Error & { severity: string; code: string }
const isFromDatabase = (error: unknown): error is FromDatabase => error instanceof Error && 'severity' in error

/**
 * PostgreSQL quotes what it stumbled over, which is a caller's data: the row in `detail` and `where`, and in the errors
 * of class 22 the value in the message itself. Its code, table and constraint say enough.
 */
const showError = (error: Error): unknown => {
  if (!(error instanceof Error)) return error
  const { detail: _detail, where: _where, internalQuery: _query, ...shown } = pino.stdSerializers.err(error)
  let { message, stack } = shown
  const chain = new Set<Error>()
  for (let at: unknown = error; at instanceof Error && !chain.has(at); at = at.cause) {
    chain.add(at)
    if (!isFromDatabase(at) || !at.code?.startsWith('22')) continue
    const masked = at.message.replace(/".*"/s, '"[redacted]"')
    message = message.replaceAll(at.message, () => masked)
    stack = stack.replaceAll(at.message, () => masked)
  }
  return { ...shown, message, stack }
}

export type LogOptions = {
  level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  format: 'json' | 'pretty'
  /** A file descriptor or path in place of standard error. */
  destination?: number | string
}

/** Lines go to standard error, so that what a command prints on standard output stays clean to pipe. */
export const makeLog = ({ level, format, destination = 2 }: LogOptions): Log => {
  const options: pino.LoggerOptions = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: () => {
      const id = currentRequestId()
      return id === undefined ? {} : { request_id: id }
    },
    serializers: { err: showError },
    redact: { paths: secretPaths, censor: '[redacted]' },
  }
  if (format === 'pretty') {
    return pino(options, pretty({ destination, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }))
  }
  return pino(options, pino.destination({ dest: destination, sync: false, minLength: 4096, periodicFlush: 250 }))
}

export const silentLog = (): Log => pino({ level: 'silent' })
