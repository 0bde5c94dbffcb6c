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
    redact: { paths: secretPaths, censor: '[redacted]' },
  }
  if (format === 'pretty') {
    return pino(options, pretty({ destination, ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }))
  }
  return pino(
    options,
    pino.destination({ dest: destination, sync: false, minLength: 4096, periodicFlush: 250 }),
  )
}

export const silentLog = (): Log => pino({ level: 'silent' })
