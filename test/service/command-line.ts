import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

const launcher = join(import.meta.dirname, '../../bin/tidings.js')

export type Ran = { code: number | null; stdout: string; stderr: string }

/**
 * The environment of a new shell. Of the test run's environment, only the variables that locate programs are kept. Nothing
 * here is of Vitest, because commands such as `npm run restarts` use it too.
 */
const cleanEnv = (env: Record<string, string>): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  TMPDIR: process.env.TMPDIR,
  NODE_COMPILE_CACHE: process.env.TEST_COMPILE_CACHE,
  ...env,
})

export const startTidings = (args: string[], env: Record<string, string>): ChildProcess =>
  spawn(process.execPath, [launcher, ...args], { env: cleanEnv(env), stdio: ['ignore', 'pipe', 'pipe'] })

/** Runs a command and waits until it exits. */
export const tidings = (args: string[], env: Record<string, string>): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = startTidings(args, env)
    let [stdout, stderr] = ['', '']
    child.stdout?.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
