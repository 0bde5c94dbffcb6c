/**
 * `--start-only`, which every command of package.json takes: the command starts what it needs, does none of its work,
 * and ends. `test/commands/` starts every command in this way.
 */
export const startOnlyOption = { 'start-only': { type: 'boolean', default: false } } as const

/** For commands without other options. */
export const isStartOnly = (): boolean => process.argv.includes('--start-only')

/** Says what has started. A command without this line counts as one that does not know `--start-only`. */
export const sayStarted = (what: string): void => {
  process.stdout.write(`started only: ${what}\n`)
}
