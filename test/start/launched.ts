/** For the tests beside: programs run as a person would run them, and what they say and leave. */
import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'

/** Makes the Node that runs the launcher look old, so that it has to find another one. */
export const oldNode = [
  '--import',
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.11.0"}})',
]

/** Alone in a process group, as a shell starts a command, so that the whole group can be signalled. */
export const run = (command: string, args: string[], options: SpawnOptions = {}) => {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const pid = child.pid ?? 0
  const closed = once(child, 'close')
  let [output, errors] = ['', '']
  child.stdout?.on('data', (text) => {
    output += text
  })
  child.stderr?.on('data', (text) => {
    errors += text
  })
  return {
    pid,
    output: () => output,
    errors: () => errors,
    /** The exit code, or the signal that ended it, once its output has ended as well. */
    ended: async (): Promise<number | string> => {
      const [code, signal] = await closed
      return signal ?? code
    },
    signal: (name: NodeJS.Signals) => process.kill(pid, name),
    signalGroup: (name: NodeJS.Signals) => process.kill(-pid, name),
  }
}

export type Run = ReturnType<typeof run>

export const until = async <T>(what: string, found: () => T | Promise<T>, ms = 20_000): Promise<NonNullable<T>> => {
  for (const end = performance.now() + ms; ; ) {
    const value = await found()
    if (value) return value
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A zombie that nobody has collected yet no longer runs. */
export const lives = async (pid: number): Promise<boolean> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  return stat !== null && !/\) [ZX] /.test(stat)
}
