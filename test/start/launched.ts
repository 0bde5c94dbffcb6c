/** Runs programs as a person would, and reads their output and exit code. */
import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, readlink } from 'node:fs/promises'

/** Makes the launcher's Node appear old, so that the launcher has to find another one. */
export const oldNode = [
  '--import',
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.11.0"}})',
]

/** Starts a command in its own process group, like a shell, so that the whole group can be signalled. */
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
    /** Resolves with the exit code or the signal after the output has ended. */
    ended: async (): Promise<number | string> => {
      const [code, signal] = await closed
      return signal ?? code
    },
    signal: (name: NodeJS.Signals) => process.kill(pid, name),
    signalGroup: (name: NodeJS.Signals) => process.kill(-pid, name),
  }
}

export type Run = ReturnType<typeof run>

export const until = async <T>(what: string, found: () => T | Promise<T>, ms = 100_000): Promise<NonNullable<T>> => {
  for (const end = performance.now() + ms; ; ) {
    const value = await found()
    if (value) return value
    if (performance.now() > end) throw new Error(`timed out waiting until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Whether the process runs. A zombie does not. */
export const lives = async (pid: number): Promise<boolean> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  return stat !== null && !/\) [ZX] /.test(stat)
}

/** All processes that run in the data folder (PostgreSQL) or were started with it (the service). */
export const processesOf = async (dataDir: string): Promise<number[]> => {
  const found: number[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)) {
    if (pid === process.pid || !(await lives(pid))) continue
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
    if (cwd.startsWith(dataDir) || environment.split('\0').includes(`DATA_DIR=${dataDir}`)) found.push(pid)
  }
  return found
}
