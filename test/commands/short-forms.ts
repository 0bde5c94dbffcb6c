/** The shortest form of each command: what is started, and how a test sees that it has started. */
import { scripts } from './named-commands.ts'

export type ShortForm = {
  args: string[]
  /** Appears on standard output once the command has started. */
  sign: RegExp
  /** The command runs until it is stopped. */
  endless?: boolean
}

/** What every command of our own takes: see scripts/start-only.ts. */
const startOnly = { args: ['--start-only'], sign: /^started only: /m }

/** Commands that run a program of another project, or the service, which have no such option. */
const ofOthers: Record<string, ShortForm> = {
  start: { args: [], sign: /Tidings is ready at http/, endless: true },
  tidings: { args: ['help'], sign: /^tidings start/ },
  test: { args: ['--passWithNoTests', 'no-file-has-this-name'], sign: /No test files found/ },
  format: { args: ['--help'], sign: /^Usage: biome check/m },
}

export const shortFormOf = (script: string): ShortForm => ofOthers[script] ?? startOnly

/** A script that only runs other scripts, and is proven by them. */
export const runsOthers = (script: string): boolean => /^npm run \S+( && npm run \S+)*$/.test(scripts[script] ?? '')

export const whatToDo =
  'Give the command a --start-only form: it starts what the command needs, does none of its work, and calls sayStarted of scripts/start-only.ts. A program of another project gets its shortest form in test/commands/short-forms.ts. See "The shortest form of a command" in CONTRIBUTING.md.'
