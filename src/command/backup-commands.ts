/** `tidings backup <file>` and `tidings restore <file>`; `-` is standard output and input. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../ground/clock.ts'
import type { Config } from '../ground/config/config.ts'
import type { Log } from '../ground/log.ts'
import { readServiceVersion } from '../ground/version.ts'
import { backUp, backUpToFile, type Progress } from '../operator/backup.ts'
import { BackupFault, type Rows } from '../operator/backup-format.ts'
import { restore as restoreFrom, type Source } from '../operator/restore.ts'
import { Fault } from './command-fault.ts'
import { withDatabaseAsItIs } from './database.ts'

const pathIn = (args: string[], command: string): string => {
  const [path, ...rest] = args
  if (path === undefined || path === '' || rest.length > 0 || (path.startsWith('-') && path !== '-')) {
    throw new Fault(
      `tidings ${command} <file>: name one file, or - for standard ${command === 'backup' ? 'output' : 'input'}.`,
    )
  }
  return path
}

const grouped = (count: number): string => count.toLocaleString('en-US')
const inMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

const longMs = 10_000

/** On a terminal a line per table as it goes; elsewhere only once it takes long, so that a short run stays silent. */
const makeProgress = (terminal: boolean): Progress => {
  let told = performance.now()
  const begun = told
  const say = (text: string): void => {
    process.stderr.write(terminal ? `\r\x1b[K${text}` : text)
  }
  const sayIfLong = (text: string): void => {
    if (terminal || performance.now() - begun > longMs) say(text)
  }
  return {
    bytes: (table, soFar) => {
      const now = performance.now()
      if (now - told < (terminal ? 200 : longMs)) return
      told = now
      say(`${table}  ${inMegabytes(soFar)} so far${terminal ? '' : '\n'}`)
    },
    table: (table, rows) => sayIfLong(`${table}  ${grouped(rows)} rows\n`),
    stage: (what) => sayIfLong(`${what}\n`),
  }
}

/** A first Ctrl-C ends the work in order, which leaves neither half a file nor a stray database server. */
const interruptible = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const interrupt = new AbortController()
  const onSignal = () => interrupt.abort(new Fault('Interrupted: nothing was kept.'))
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    return await work(interrupt.signal)
  } catch (error) {
    interrupt.signal.throwIfAborted()
    throw asFault(error)
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}

const asFault = (error: unknown): unknown => {
  if (error instanceof BackupFault) return new Fault(error.message, { cause: error })
  const { syscall, message } = error as NodeJS.ErrnoException
  // A file that cannot be opened, a full disk, a reader that went away, a database that does not answer.
  return syscall === undefined ? error : new Fault(message, { cause: error })
}

const summary = (rows: Rows): string => {
  const counts = Object.values(rows)
  return `${grouped(counts.reduce((sum, count) => sum + count, 0))} rows of ${counts.length} tables`
}

const whereTheKeyIs = (config: Config): string => (config.masterKey ? 'MASTER_KEY' : join(config.dataDir, 'master.key'))

type Tell = (text: string) => void

/** Standard output may be carrying the backup itself. */
const onStandardError: Tell = (text) => {
  process.stderr.write(`${text}\n`)
}

export const backupCommand = async (
  config: Config,
  log: Log,
  args: string[],
  tell: Tell = onStandardError,
): Promise<void> => {
  const path = pathIn(args, 'backup')
  return interruptible((signal) =>
    withDatabaseAsItIs(config, log, async ({ connect }) => {
      const progress = makeProgress(process.stderr.isTTY === true)
      const serviceVersion = readServiceVersion()
      const needs = { connect, clock: systemClock, serviceVersion, progress, signal }
      if (path === '-') {
        const { rows } = await backUp(needs, process.stdout)
        tell(`Wrote ${summary(rows)}.`)
      } else {
        const { rows, bytes } = await backUpToFile(needs, path)
        tell(`Wrote ${summary(rows)} to ${path} (${inMegabytes(bytes)}).`)
      }
      tell(
        `The master key is not in it. Keep ${whereTheKeyIs(config)} too, in another place: without it the secrets in the backup stay sealed.`,
      )
    }),
  )
}

const sourceOf = async (path: string): Promise<Source> => {
  if (path === '-') return { open: () => process.stdin, rereadable: false }
  return { open: () => createReadStream(path), rereadable: (await stat(path)).isFile() }
}

export const restoreCommand = async (
  config: Config,
  log: Log,
  args: string[],
  tell: Tell = onStandardError,
): Promise<void> => {
  const path = pathIn(args, 'restore')
  return interruptible(async (signal) => {
    const source = await sourceOf(path)
    await withDatabaseAsItIs(config, log, async ({ connect }) => {
      const progress = makeProgress(process.stderr.isTTY === true)
      const serviceVersion = readServiceVersion()
      const needs = { connect, clock: systemClock, log, serviceVersion, progress, signal }
      const restored = await restoreFrom(needs, source)
      tell(`Restored ${summary(restored.rows)}, taken at ${restored.takenAt} by version ${restored.serviceVersion}.`)
      tell(
        `The master key is not in a backup: before starting, put the one of that time into ${whereTheKeyIs(config)}.`,
      )
    })
  })
}
