/** What the command palette offers. A page group adds its own commands and finders here with `addCommands`. */
import type { Gate } from '../api/can.ts'

export type Command = {
  id: string
  group: string
  label: string
  hint?: string
  gate?: Gate
  run: () => void | Promise<void>
}

/** Gets what is typed, and returns commands such as "Open message msg_…". It may ask the service. */
export type Finder = (typed: string, signal: AbortSignal) => Promise<Command[]> | Command[]

const finders: Finder[] = []

export const addFinder = (finder: Finder): void => {
  finders.push(finder)
}

export const findCommands = async (typed: string, signal: AbortSignal): Promise<Command[]> =>
  (await Promise.all(finders.map((finder) => Promise.resolve(finder(typed, signal)).catch(() => [])))).flat()
