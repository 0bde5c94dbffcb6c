/** Programs of the drill: started as another user, and killed, paused and resumed with everything they started. */
import { execFile, spawn } from 'node:child_process'
import { open, readdir, readFile, readlink } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { stopping } from './progress.ts'

export const exec = promisify(execFile)

export type Program = {
  start(): Promise<void>
  /** Sends a signal to the program and everything that it started. */
  signal(signal: NodeJS.Signals): Promise<void>
  /** Kills all of it with SIGKILL and waits until nothing of it runs. */
  kill(): Promise<void>
}

export type Account = { uid: number; gid: number }

export type ProgramSpec = {
  command: string
  args: string[]
  env?: NodeJS.ProcessEnv
  /** The program starts in this folder, which no other program uses: its processes are found by it. */
  folder: string
  /** Where its output goes. */
  log: string
  /** Runs the program if the drill runs as root. PostgreSQL refuses to run as root. */
  account?: Account | undefined
}

/** The processes whose working folder is the given one or is inside it. PostgreSQL works in its data folder. */
const processesIn = async (folder: string): Promise<number[]> => {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger)
  const isInside = async (pid: number): Promise<boolean> => {
    const at = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    // A zombie has no working folder, so it is not found.
    return pid !== process.pid && (at === folder || at.startsWith(`${folder}/`))
  }
  const inside = await Promise.all(pids.map(isInside))
  return pids.filter((_, i) => inside[i])
}

const signalIn = async (folder: string, signal: NodeJS.Signals): Promise<number> => {
  const pids = await processesIn(folder)
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended since.
    }
  }
  return pids.length
}

/** Repeats, because a program may start another one between the look and the signal. */
export const killIn = async (folder: string): Promise<void> => {
  for (let turn = 0; turn < 200; turn++) {
    if ((await signalIn(folder, 'SIGKILL')) === 0) return
    await sleep(50)
  }
  throw new Error(`processes in ${folder} do not end`)
}

export const makeProgram = ({ command, args, env, folder, log, account }: ProgramSpec): Program => ({
  start: async () => {
    stopping.throwIfAborted()
    const output = await open(log, 'a')
    // In a session of its own, so that Ctrl-C does not reach it.
    const child = spawn(command, args, {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, LC_ALL: 'C.UTF-8', ...env },
      stdio: ['ignore', output.fd, output.fd],
      detached: true,
      ...account,
    })
    child.unref()
    await Promise.race([
      new Promise((started) => child.once('spawn', started)),
      new Promise((_, failed) => child.once('error', failed)),
    ]).finally(() => output.close())
  },
  signal: async (signal) => {
    await signalIn(folder, signal)
  },
  kill: () => killIn(folder),
})

/** The last lines of a log, for an error message. */
export const lastLines = async (log: string, count = 8): Promise<string> =>
  (await readFile(log, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-count).join('\n')
