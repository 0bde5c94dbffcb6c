#!/usr/bin/env node
// Starts Tidings: brings the bundle up to date where there are sources, then runs it under Node 24.
// Plain JavaScript for Node 18 and newer, as in node24.js.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { serviceFlags } from './flags.js'
import { leaveWithOneLine, runInForeground, thisIsNode24 } from './node24.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bundle = join(root, 'dist', 'tidings.mjs')

const bringUpToDate = async () => {
  if (!existsSync(join(root, 'src'))) return
  const { build, isUpToDate } = await import('../scripts/build.js')
  if (isUpToDate()) return
  await build().catch((error) => {
    throw new Error(`Could not build ${bundle}: ${error.message}`, { cause: error })
  })
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
 * Ends the service when the npm that started it is gone. Killed outright npm tells nobody, and a SIGTERM it
 * passes on ends at a shell that stands between the two where that does not replace itself by its command.
 */
const followNpm = () => {
  if (!/^(exec )?node (--\S+ )*bin\/tidings\.js/.test(process.env.npm_lifecycle_script ?? '')) return
  const parent = process.ppid
  const npm = readProc(parent, 'cmdline').includes('bin/tidings.js') ? parentOf(parent) : undefined
  const look = setInterval(() => {
    if (process.ppid === parent && (npm === undefined || parentOf(parent) === npm)) return
    clearInterval(look)
    process.kill(process.pid, 'SIGTERM')
  }, 100)
  look.unref()
}

/**
 * As a second process the service gets a session of its own, so that the only signals it sees are those passed on,
 * and a channel whose `disconnect` tells it that this launcher was killed.
 */
const runApart = () =>
  runInForeground([...serviceFlags, bundle, ...process.argv.slice(2)], {
    detached: true,
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, TIDINGS_LAUNCHER: '1' },
  }).then((code) => process.exit(code))

await bringUpToDate().catch(leaveWithOneLine)
followNpm()
if (thisIsNode24()) {
  process.setSourceMapsEnabled(true)
  // A closed terminal is a request to stop like any other.
  process.on('SIGHUP', () => process.kill(process.pid, 'SIGTERM'))
  await import(pathToFileURL(bundle).href)
} else {
  await runApart().catch(leaveWithOneLine)
}
