/** Classifies database errors by what they mean for the failed statement. */

type Coded = { code?: unknown }

/** A statement of the transaction failed, and the work ignored the error. */
export class RolledBackFault extends Error {
  constructor() {
    super('the transaction was rolled back at commit because one of its statements had failed')
  }
}

export const sqlState = (error: unknown): string | undefined => {
  const code = (error as Coded | null)?.code
  // No class of SQLSTATE begins with E, but system errors do, such as EPIPE.
  return typeof code === 'string' && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : undefined
}

/**
 * Whether the server rejected the statement and rolled it back, so that it certainly had no effect. Errors of classes
 * 08, 53, 57, 58 and XX (connection, resources, shutdown, system, internal) do not prove that.
 */
export const hadNoEffect = (error: unknown): boolean => {
  const state = sqlState(error)
  return state !== undefined && !/^(08|53|57|58|XX)/.test(state)
}

const unsent = new WeakSet<object>()

/** Records that the error happened before a statement was sent: there was no connection to send it over. */
export const markUnsent = (error: unknown): void => {
  if (typeof error === 'object' && error !== null) unsent.add(error)
}

/** Whether the failed statement never left this process. */
const wasNotSent = (error: unknown): boolean =>
  error instanceof Error && (unsent.has(error) || error.message.endsWith('and is not queryable'))

/** Out of disk, memory or other resources, or an error of the disk. */
const outOfResources = (state: string): boolean => /^(53|58)/.test(state)

/**
 * Whether the failed statement or COMMIT may have taken effect. The server rolls back before it reports an error; after
 * FATAL and PANIC, which end the connection, that is not known.
 */
export const mayHaveTakenEffect = (error: unknown): boolean => {
  if (hadNoEffect(error) || wasNotSent(error) || error instanceof RolledBackFault) return false
  const state = sqlState(error)
  const rolledBack = (error as { severity?: unknown } | null)?.severity === 'ERROR'
  return state === undefined || !outOfResources(state) || !rolledBack
}

/** The server is a replica, such as a former primary, or has been made read-only. */
const readOnlyServer = '25006'

/**
 * Whether the connection failed, or its server is shutting down or accepts no changes. The statement may or may not have
 * taken effect. A new connection may lead to another server.
 */
export const lostConnection = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state !== undefined) return /^(08|57P)/.test(state) || state === '53300' || state === readOnlyServer
  const code = (error as Coded | null)?.code
  if (typeof code === 'string' && /^E(CONN|PIPE|TIMEDOUT|HOSTUNREACH|AI_AGAIN|NOTFOUND)/.test(code)) return true
  return (
    error instanceof Error &&
    /connection terminated|timeout exceeded when trying to connect|timeout expired|query read timeout|Client has encountered a connection error|Cannot use a pool after/i.test(
      error.message,
    )
  )
}

/** Whether the database cannot serve anybody at the moment, rather than just this statement. */
export const isOutage = (error: unknown): boolean =>
  wasNotSent(error) || lostConnection(error) || outOfResources(sqlState(error) ?? '')

export const uniqueViolation = (error: unknown, constraint?: string): boolean =>
  sqlState(error) === '23505' &&
  (constraint === undefined || (error as { constraint?: string }).constraint === constraint)

/** Another row refers to this row, or this row refers to one that does not exist. */
export const foreignKeyViolation = (error: unknown): boolean => sqlState(error) === '23503'

/** Whether the database caused the error: it rejected a statement, or the connection failed. */
export const isDatabaseFault = (error: unknown): boolean =>
  sqlState(error) !== undefined || isOutage(error) || error instanceof RolledBackFault
