#!/usr/bin/env node
// Runs a script under Node 24, from any Node version: `node bin/node24.js <script> [arguments]`.
// Plain JavaScript for Node 18 and newer, because it runs before Node 24 is found.
import { spawn } from 'node:child_process'
import { closeSync, openSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const thisIsNode24 = () => Number(process.versions.node.split('.')[0]) >= 24

/** The Node 24 to use: the current one, or the one that npm installed as an optional dependency. */
export const findNode24 = () => {
  if (thisIsNode24()) return process.execPath
  const name = `node-${process.platform}-${process.arch}`
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'node')
  } catch {
    throw new Error(
      `Tidings needs Node 24, but this is Node ${process.versions.node} and the package ${name} is not installed. ` +
        'Run `npm install` without `--omit=optional`, or install Node 24 or newer from https://nodejs.org.',
    )
  }
}

const forwardedAs = { SIGINT: 'SIGINT', SIGTERM: 'SIGTERM', SIGQUIT: 'SIGQUIT', SIGHUP: 'SIGTERM' }

const opensTerminal = () => {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

const hadTerminal = opensTerminal()

/** Whether SIGHUP means that the terminal of this process was closed. Otherwise someone sent it. */
export const terminalClosed = () => hadTerminal && !opensTerminal()

/**
 * Runs Node 24 in the foreground and resolves with its exit code. A terminal sends Ctrl-C to the whole process group and
 * npm repeats it, so each kind of signal is forwarded at most once. A program that takes SIGHUP itself says so over the IPC
 * channel.
 */
export const runInForeground = (args, options = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(findNode24(), args, { stdio: 'inherit', ...options })
    const sent = new Set()
    let takesHangUp = false
    child.on('message', (message) => {
      takesHangUp ||= message?.takes === 'SIGHUP'
    })
    for (const [signal, as] of Object.entries(forwardedAs)) {
      const childReceivesIt = !options.detached && signal === 'SIGINT' && process.stdin.isTTY
      process.on(signal, () => {
        if (signal === 'SIGHUP' && takesHangUp && !terminalClosed()) {
          child.kill('SIGHUP')
          return
        }
        if (!childReceivesIt && !sent.has(as)) child.kill(as)
        sent.add(as)
      })
    }
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(signal ? 128 + constants.signals[signal] : code))
  })

export const exitWithMessage = (error) => {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  runInForeground(process.argv.slice(2)).then((code) => process.exit(code), exitWithMessage)
}
