/** What errors of the file system mean, and the end of a log for the message of an error. */

export const errnoOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Null when the error means that a file or process does not exist. Throws any other error. */
export const absentAsNull = (error: unknown): null => {
  const code = errnoOf(error)
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ESRCH') return null
  throw error
}

export const lastLines = (text: string, count = 8): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .slice(-count)
    .map((line) => `  ${line}`)
    .join('\n')
