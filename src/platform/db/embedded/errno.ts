/** What errors of the file system mean, and the end of a log for the message of an error. */

export const errnoOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Null for an error with one of these codes. Throws any other error. */
export const nullFor =
  (...codes: string[]) =>
  (error: unknown): null => {
    if (codes.includes(errnoOf(error) ?? '')) return null
    throw error
  }

/** Null when the error means that a file or process does not exist. */
export const absentAsNull = nullFor('ENOENT', 'ENOTDIR', 'ESRCH')

export const lastLines = (text: string, count = 8): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .slice(-count)
    .map((line) => `  ${line}`)
    .join('\n')
