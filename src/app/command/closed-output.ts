/** Standard output and standard error that nobody reads any more, or that cannot be written. */

/** The first error of standard output. */
let lost: NodeJS.ErrnoException | undefined

/**
 * Without a listener, the first write to a closed pipe or terminal, or to a file on a full disk, would end the process
 * at once: with an embedded database server that keeps running, and without the work that was in progress.
 */
export const surviveLostOutput = (): void => {
  process.stdout.on('error', (error) => {
    lost ??= error
  })
  process.stderr.on('error', () => undefined)
}

/** Prints a text. Resolves to whether it was written. */
export const printed = (text: string): Promise<boolean> =>
  new Promise((resolve) => process.stdout.write(text, (error) => resolve(!error)))

/** The exit code of a command: 1 if its output is lost. A reader that stops early, as `head` does, needs no message. */
export const exitCodeOf = (code: number): number => {
  if (lost === undefined) return code
  if (lost.code !== 'EPIPE') process.stderr.write(`The output could not be written: ${lost.message}\n`)
  return Math.max(code, 1)
}
