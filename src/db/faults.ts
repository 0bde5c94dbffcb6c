/** What an error from the database says about the statement that met it. */

type Coded = { code?: unknown }

export const sqlState = (error: unknown): string | undefined => {
  const code = (error as Coded | null)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/**
 * The server refused the statement itself and rolled it back, so it is known to have had no effect. Classes
 * 08, 53, 57 and 58 (connection, resources, shutdown, system) say nothing of the kind about a later try.
 */
export const refusedCleanly = (error: unknown): boolean => {
  const state = sqlState(error)
  return state !== undefined && !/^(08|53|57|58|XX)/.test(state)
}

/** The server could not be reached or is going away: nobody knows whether the statement took effect. */
export const lostConnection = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state !== undefined) return /^(08|57P)/.test(state) || state === '53300'
  const code = (error as Coded | null)?.code
  if (typeof code === 'string' && /^E(CONN|PIPE|TIMEDOUT|HOSTUNREACH|AI_AGAIN|NOTFOUND)/.test(code)) return true
  return (
    error instanceof Error &&
    /connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Cannot use a pool after/i.test(
      error.message,
    )
  )
}

export const uniqueViolation = (error: unknown, constraint?: string): boolean =>
  sqlState(error) === '23505' &&
  (constraint === undefined || (error as { constraint?: string }).constraint === constraint)

/** Something refers to the row, or the row refers to something that is not there. */
export const foreignKeyViolation = (error: unknown): boolean => sqlState(error) === '23503'
