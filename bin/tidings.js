#!/usr/bin/env node
// Starts Tidings: rebuilds the bundle if the sources have changed, then runs it under Node 24.
// Plain JavaScript for Node 18 and newer, like node24.js.
import { spawnSync } from 'node:child_process'
import cluster from 'node:cluster'
import { existsSync, readFileSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { serviceFlags } from './flags.js'
import { exitWithMessage, findNode24, runInForeground, terminalClosed, thisIsNode24 } from './node24.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bundle = join(root, 'dist', 'tidings.mjs')

/** A build takes memory that the service would keep, so both builds run in a process of their own. */
const runScript = (script, stderr) => spawnSync(findNode24(), [script], { stdio: ['ignore', 'inherit', stderr] })

const updateBundle = async () => {
  if (!existsSync(join(root, 'src'))) return
  const { isUpToDate } = await import('../scripts/build.js')
  if (isUpToDate()) return
  const { status, stderr } = runScript(join(root, 'scripts', 'build.js'), 'pipe')
  if (status !== 0) throw new Error(`Could not build ${bundle}: ${stderr}`)
}

const [command, ...options] = process.argv.slice(2)

const asksForHelp = options.some((option) => ['--help', '-h'].includes(option))

/** Commands that serve pages. The others, and their help, start without the dashboard. */
const servesPages = ['start', 'api'].includes(command) && !asksForHelp

/**
 * Starts this program again with the flags of the service, which Node takes only at its start. It stays the same process,
 * with its id, its parent and its terminal. That costs a second start of Node, so other commands run without them. A parent
 * that talks to this process over a channel would lose it, so such a parent passes the flags itself.
 */
const takeServiceFlags = () => {
  const serves = ['start', 'api', 'worker'].includes(command) && !asksForHelp
  const hasFlags = serviceFlags.every((flag) => process.execArgv.includes(flag))
  if (!serves || hasFlags || process.channel || !process.execve) return
  process.execve(process.execPath, [process.execPath, ...serviceFlags, ...process.execArgv, ...process.argv.slice(1)])
}

/** The service runs without its dashboard, so a failed build is reported and does not stop the start. */
const updateWeb = async () => {
  if (!servesPages) return
  const script = join(root, 'scripts', 'build-web.js')
  if (!existsSync(script)) return
  const { hasWebSources, isWebUpToDate } = await import('../scripts/build-web.js')
  if (!hasWebSources() || isWebUpToDate()) return
  console.log('Building the dashboard. This happens once after its sources have changed.')
  const { status } = runScript(script, 'inherit')
  if (status !== 0) console.error('The dashboard could not be built. The API starts without it; see the lines above.')
}

/**
 * Keeps the compiled code of the bundle for the next start, also for the processes that this one starts. The folder is as
 * trustworthy as the bundle next to it. Where it cannot be written, as in a container, every start compiles.
 */
const keepCompiledCode = () => {
  process.env.NODE_COMPILE_CACHE ??= join(root, 'dist', 'compiled')
  module.enableCompileCache?.()
}

const readProc = (pid, file) => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

const parentOf = (pid) => /\) \S (\d+)/.exec(readProc(pid, 'stat'))?.[1]

/**
 * Stops the service when the npm process that started it has exited. npm cannot forward SIGKILL. Its SIGTERM does not
 * arrive either if npm runs a shell that keeps running instead of replacing itself with the command.
 */
const followNpm = () => {
  if (!/^(exec )?node (--\S+ )*bin\/tidings\.js/.test(process.env.npm_lifecycle_script ?? '')) return
  const parent = process.ppid
  const npm = readProc(parent, 'cmdline').includes('bin/tidings.js') ? parentOf(parent) : undefined
  const timer = setInterval(() => {
    if (process.ppid === parent && (npm === undefined || parentOf(parent) === npm)) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, 100)
  timer.unref()
}

/**
 * Runs the service as a second process. Its own session ensures that it receives only forwarded signals. When this
 * launcher is killed, the IPC channel disconnects and the service stops.
 */
const runAsChild = () =>
  runInForeground([...serviceFlags, bundle, ...process.argv.slice(2)], {
    detached: true,
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, TIDINGS_LAUNCHER: '1' },
  }).then((code) => process.exit(code))

if (thisIsNode24()) takeServiceFlags()
await updateBundle().catch(exitWithMessage)
await updateWeb().catch(exitWithMessage)
keepCompiledCode()
followNpm()
if (thisIsNode24()) {
  // A closed terminal stops the service like SIGTERM. So does SIGHUP, unless the service takes it itself: several
  // processes are then replaced one after the other.
  process.on('SIGHUP', () => {
    if (process.listenerCount('SIGHUP') === 1 || terminalClosed()) process.kill(process.pid, 'SIGTERM')
  })
  // Child processes run the bundle with the flags of the service, and with those of this process.
  cluster.setupPrimary({ exec: bundle, execArgv: [...new Set([...process.execArgv, ...serviceFlags])] })
  await import(pathToFileURL(bundle).href)
} else {
  await runAsChild().catch(exitWithMessage)
}
