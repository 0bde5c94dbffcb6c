import { pino } from 'pino'
import pretty from 'pino-pretty'
import { currentRequestId } from './request-context.ts'
import { makeScrub, scrubText } from './scrub.ts'
import { showStack } from './shown-stack.ts'

/** Without child loggers: their fields would not be scrubbed. */
export type Log = Pick<pino.Logger, 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'flush' | 'level'>

/** Fields that are redacted in every logged object. */
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
 * Removes callers' data from database errors. PostgreSQL quotes the row in `detail` and `where`, and errors of class 22
 * (data exceptions) quote the value in the message. The code, table and constraint are enough to find the cause.
 */
const showError = (error: Error): unknown => {
  const { detail: _detail, where: _where, internalQuery: _query, ...shown } = pino.stdSerializers.err(error)
  let { message, stack } = shown
  const chain = new Set<Error>()
  for (let link: unknown = error; link instanceof Error && !chain.has(link); link = link.cause) {
    chain.add(link)
    if (!isFromDatabase(link) || !link.code?.startsWith('22')) continue
    const masked = link.message.replace(/".*"/s, '"[redacted]"')
    message = message.replaceAll(link.message, () => masked)
    stack = stack.replaceAll(link.message, () => masked)
  }
  return { ...shown, message, stack: showStack(stack) }
}

const scrub = makeScrub(showError)

/** The arguments of one call without addresses. A record without a message gets that of its error, as pino does it. */
const scrubArguments = ([first, ...others]: unknown[]): unknown[] => {
  const fields = first instanceof Error ? { err: first } : first
  if (typeof fields !== 'object' || fields === null) return [first, ...others].map(scrub)
  const { err } = fields as { err?: unknown }
  const message = others.length === 0 && err instanceof Error ? [scrubText(err.message)] : []
  const shown = scrub(fields)
  return [typeof shown === 'object' ? shown : { fields: shown }, ...others.map(scrub), ...message]
}

type LogOptions = {
  level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  format: 'json' | 'pretty'
  /** A file descriptor or a path. Default: standard error. */
  destination?: number | string
  /** Which of several processes writes, such as `api-2`. */
  process?: string | undefined
}

/** Lines beyond this are dropped while the destination takes none, such as a file on a full disk. */
const maxWaitingBytes = 8 * 1_048_576

type Pace = { minLength?: number; periodicFlush?: number }

/**
 * A log that cannot be written must neither end the service nor prevent its end. pino itself stops to write after EPIPE.
 * After any other error it tries again with the next line, but when the process exits it would try forever.
 */
const openDestination = (dest: number | string, pace: Pace = {}) => {
  const stream = pino.destination({ dest, sync: false, maxLength: maxWaitingBytes, ...pace })
  const { flushSync } = stream
  stream.on('error', () => {
    stream.flushSync = () => undefined
  })
  stream.on('write', () => {
    stream.flushSync = flushSync
  })
  return stream
}

/** Logs to standard error, so that the standard output of a command can be piped. */
export const makeLog = ({ level, format, destination = 2, process }: LogOptions): Log => {
  const options: pino.LoggerOptions = {
    level,
    base: process === undefined ? undefined : { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: () => {
      const id = currentRequestId()
      return id === undefined ? {} : { request_id: id }
    },
    // Errors are already plain objects: see `scrubArguments`.
    serializers: { err: (shown: unknown) => shown },
    hooks: {
      logMethod(args, method) {
        method.apply(this, scrubArguments(args) as typeof args)
      },
    },
    redact: { paths: secretPaths, censor: '[redacted]' },
  }
  if (format === 'pretty') {
    return pino(
      options,
      pretty({ destination: openDestination(destination), ignore: 'pid,hostname', translateTime: 'HH:MM:ss' }),
    )
  }
  return pino(options, openDestination(destination, { minLength: 4096, periodicFlush: 250 }))
}

export const silentLog = (): Log => pino({ level: 'silent' })
