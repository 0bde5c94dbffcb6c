import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

const launcher = join(import.meta.dirname, '../../bin/tidings.js')

export type Ran = { code: number | null; stdout: string; stderr: string }

/** The environment of a fresh shell: nothing of the test run leaks in but what finds programs. */
const cleanEnv = (env: Record<string, string>): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  TMPDIR: process.env.TMPDIR,
  ...env,
})

export const startTidings = (args: string[], env: Record<string, string>): ChildProcess =>
  spawn(process.execPath, [launcher, ...args], { env: cleanEnv(env), stdio: ['ignore', 'pipe', 'pipe'] })

/** Runs one command to its end. */
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
