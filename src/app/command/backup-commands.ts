/** `tidings backup <file>` and `tidings restore <file>`. The file `-` is standard output or input. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Db } from '../../platform/db/pool.ts'
import { systemClock } from '../../platform/ground/clock.ts'
import type { Config } from '../../platform/ground/config/config.ts'
import type { Log } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { readServiceVersion } from '../../platform/ground/version.ts'
import { brokenChains, recordUnauthenticatedRestore } from '../operator/after-restore.ts'
import { backUp, backUpToFile, type Progress } from '../operator/backup.ts'
import type { Rows } from '../operator/backup-format.ts'
import { findMasterKey, masterKeyLocation } from '../operator/master-key.ts'
import { type Restored, restore as restoreFrom, type Source } from '../operator/restore.ts'
import { backupOptions, restoreOptions } from './backup-options.ts'
import { withUnmigratedDatabase } from './database.ts'

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
  const onSignal = () => interrupt.abort(new OperatorFault('Interrupted. Nothing was saved.'))
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
  if (error instanceof OperatorFault) return error
  const { syscall, message } = error as NodeJS.ErrnoException
  // The file cannot be opened, the disk is full, the pipe was closed, or the database does not respond.
  return syscall === undefined ? error : new OperatorFault(message, { cause: error })
}

const summary = (rows: Rows): string => {
  const counts = Object.values(rows)
  return `${formatCount(counts.reduce((sum, count) => sum + count, 0))} rows from ${counts.length} tables`
}

type Print = (text: string) => void

/** Messages go to standard error, because standard output may carry the backup. */
const printToStandardError: Print = (text) => {
  process.stderr.write(`${text}\n`)
}

const noMasterKey = (config: Config, verb: string): OperatorFault =>
  new OperatorFault(
    `There is no master key: MASTER_KEY is not set and ${masterKeyLocation(config)} does not exist. ` +
      `It is needed to ${verb} the backup. Run this command with the environment of the service.`,
  )

export const backupCommand = async (
  config: Config,
  log: Log,
  args: string[],
  print: Print = printToStandardError,
): Promise<void> =>
  interruptible(async (signal) => {
    const { path, encryptTo } = await backupOptions(args, config)
    const masterKey = await findMasterKey(config)
    if (masterKey === null) throw noMasterKey(config, 'authenticate')
    await withUnmigratedDatabase(config, log, async ({ connect }) => {
      const progress = makeProgress(process.stderr.isTTY === true)
      const serviceVersion = readServiceVersion()
      const needs = { connect, clock: systemClock, serviceVersion, masterKey, encryptTo, progress, signal }
      const encrypted = encryptTo ? ', encrypted' : ''
      if (path === '-') {
        const { rows } = await backUp(needs, process.stdout)
        print(`Wrote ${summary(rows)}${encrypted}.`)
      } else {
        const { rows, bytes } = await backUpToFile(needs, path)
        print(`Wrote ${summary(rows)} to ${path} (${formatMegabytes(bytes)}${encrypted}).`)
      }
      print(
        `The backup does not contain the master key. Store ${masterKeyLocation(config)} separately: without it, the backup cannot be authenticated and the secrets in it cannot be decrypted.`,
      )
    })
  })

const sourceOf = async (path: string): Promise<Source> => {
  if (path === '-') return { open: () => process.stdin, rereadable: false }
  return { open: () => createReadStream(path), rereadable: (await stat(path)).isFile() }
}

type Restoring = { db: Db; config: Config; log: Log; print: Print }

/** The restored data is kept when the chain is broken, so that the operator can look at it. */
const finishRestore = async ({ db, config, log, print }: Restoring, restored: Restored): Promise<void> => {
  const { unauthenticated: reason, takenAt } = restored
  const needs = { db, clock: systemClock, log, secrets: config.auditSecrets, cutover: config.auditCutover.at }
  if (reason !== null) {
    await recordUnauthenticatedRestore(needs, { reason, takenAt })
    print(`The backup is not authenticated: ${reason}. The audit log of every org says so.`)
  }
  const broken = await brokenChains(needs)
  if (broken.length === 0) return
  throw new OperatorFault(
    `The backup was restored, but the audit chain of ${formatCount(broken.length)} org(s) is not intact: ${broken.slice(0, 10).join(', ')}. Run \`tidings ops audit verify <org_id>\` for the details.`,
  )
}

export const restoreCommand = async (
  config: Config,
  log: Log,
  args: string[],
  print: Print = printToStandardError,
): Promise<void> =>
  interruptible(async (signal) => {
    const { path, decryptWith, allowUnauthenticated } = await restoreOptions(args, config)
    const masterKey = await findMasterKey(config)
    if (masterKey === null && !allowUnauthenticated) throw noMasterKey(config, 'verify')
    const masterKeys = [...(masterKey ? [masterKey] : []), ...config.masterKeyPrevious]
    const opening = { ...decryptWith, masterKeys, allowUnauthenticated }
    const source = await sourceOf(path)
    await withUnmigratedDatabase(config, log, async (db) => {
      const progress = makeProgress(process.stderr.isTTY === true)
      const serviceVersion = readServiceVersion()
      const { connect } = db
      const needs = { connect, clock: systemClock, log, serviceVersion, opening, progress, signal }
      const restored = await restoreFrom(needs, source)
      const { rows, takenAt } = restored
      print(`Restored ${summary(rows)}. The backup was taken at ${takenAt} by version ${restored.serviceVersion}.`)
      if (masterKey === null) {
        print(
          `A backup does not contain the master key. Before you start the service, put the key of the backed-up service into ${masterKeyLocation(config)}.`,
        )
      }
      await finishRestore({ db, config, log, print }, restored)
    })
  })
