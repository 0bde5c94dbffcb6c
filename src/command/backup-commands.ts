/** `tidings backup <file>` and `tidings restore <file>`. The file `-` is standard output or input. */
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
import { withUnmigratedDatabase } from './database.ts'

const pathIn = (args: string[], command: string): string => {
  const [path, ...rest] = args
  if (path === undefined || path === '' || rest.length > 0 || (path.startsWith('-') && path !== '-')) {
    throw new Fault(
      `Usage: tidings ${command} <file>. Use - as the file for standard ${command === 'backup' ? 'output' : 'input'}.`,
    )
  }
  return path
}

const formatCount = (count: number): string => count.toLocaleString('en-US')
const formatMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

const longRunMs = 10_000

/** On a terminal, prints each table. Otherwise prints only after ten seconds, so that short runs print nothing. */
const makeProgress = (terminal: boolean): Progress => {
  const startedAt = performance.now()
  let printedAt = startedAt
  const print = (text: string): void => {
    process.stderr.write(terminal ? `\r\x1b[K${text}` : text)
  }
  const printIfLong = (text: string): void => {
    if (terminal || performance.now() - startedAt > longRunMs) print(text)
  }
  return {
    bytes: (table, soFar) => {
      const now = performance.now()
      if (now - printedAt < (terminal ? 200 : longRunMs)) return
      printedAt = now
      print(`${table}  ${formatMegabytes(soFar)} so far${terminal ? '' : '\n'}`)
    },
    table: (table, rows) => printIfLong(`${table}  ${formatCount(rows)} rows\n`),
    stage: (name) => printIfLong(`${name}\n`),
  }
}

/** Stops the work cleanly on the first Ctrl-C, without leaving a partial file or a running database server. */
const interruptible = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const interrupt = new AbortController()
  const onSignal = () => interrupt.abort(new Fault('Interrupted. Nothing was saved.'))
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
  // The file cannot be opened, the disk is full, the pipe was closed, or the database does not respond.
  return syscall === undefined ? error : new Fault(message, { cause: error })
}

const summary = (rows: Rows): string => {
  const counts = Object.values(rows)
  return `${formatCount(counts.reduce((sum, count) => sum + count, 0))} rows from ${counts.length} tables`
}

const masterKeyLocation = (config: Config): string =>
  config.masterKey ? 'MASTER_KEY' : join(config.dataDir, 'master.key')

type Print = (text: string) => void

/** Messages go to standard error, because standard output may carry the backup. */
const printToStandardError: Print = (text) => {
  process.stderr.write(`${text}\n`)
}

export const backupCommand = async (
  config: Config,
  log: Log,
  args: string[],
  print: Print = printToStandardError,
): Promise<void> => {
  const path = pathIn(args, 'backup')
  return interruptible((signal) =>
    withUnmigratedDatabase(config, log, async ({ connect }) => {
      const progress = makeProgress(process.stderr.isTTY === true)
      const serviceVersion = readServiceVersion()
      const needs = { connect, clock: systemClock, serviceVersion, progress, signal }
      if (path === '-') {
        const { rows } = await backUp(needs, process.stdout)
        print(`Wrote ${summary(rows)}.`)
      } else {
        const { rows, bytes } = await backUpToFile(needs, path)
        print(`Wrote ${summary(rows)} to ${path} (${formatMegabytes(bytes)}).`)
      }
      print(
        `The backup does not contain the master key. Store ${masterKeyLocation(config)} separately: without it, the secrets in the backup cannot be decrypted.`,
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
  print: Print = printToStandardError,
): Promise<void> => {
  const path = pathIn(args, 'restore')
  return interruptible(async (signal) => {
    const source = await sourceOf(path)
    await withUnmigratedDatabase(config, log, async ({ connect }) => {
      const progress = makeProgress(process.stderr.isTTY === true)
      const serviceVersion = readServiceVersion()
      const needs = { connect, clock: systemClock, log, serviceVersion, progress, signal }
      const restored = await restoreFrom(needs, source)
      const { rows, takenAt } = restored
      print(`Restored ${summary(rows)}. The backup was taken at ${takenAt} by version ${restored.serviceVersion}.`)
      print(
        `A backup does not contain the master key. Before you start the service, put the key of the backed-up service into ${masterKeyLocation(config)}.`,
      )
    })
  })
}
