/**
 * Allows one service per database folder. The lock is a folder with one file, named after the pid and start time of its
 * owner. A rename onto the lock succeeds only while it is empty or missing, so exactly one of several starting services
 * gets it. The file of a dead owner is removed by its name, so the file of a new owner is never removed by mistake.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorFault } from '../../ground/operator-fault.ts'
import { giveToFolderOwner } from './account.ts'
import { absentAsNull, nullFor } from './errno.ts'
import { pause, startTimeOf } from './processes.ts'

const lockName = 'service.lock'
const draftPrefix = `${lockName}.`

/** The previous service may still be stopping when the next one starts. */
const defaultWaitMs = 3000

const separator = '~'

const ownToken = async (): Promise<string> =>
  [process.pid, await startTimeOf(process.pid), randomBytes(4).toString('hex')].join(separator)

const ownerIfAlive = async (token: string): Promise<number | null> => {
  const [pid = '', startTime] = token.split(separator)
  return (await startTimeOf(Number(pid))) === startTime ? Number(pid) : null
}

/** The pid of the service that owns the folder. Removes the files of dead owners. */
const currentOwner = async (lock: string): Promise<number | null> => {
  for (const token of (await readdir(lock).catch(absentAsNull)) ?? []) {
    const pid = await ownerIfAlive(token)
    if (pid !== null) return pid
    await rm(join(lock, token), { force: true })
  }
  return null
}

const tryAcquire = async (draft: string, lock: string): Promise<boolean> =>
  (await rename(draft, lock).then(() => true, nullFor('ENOTEMPTY', 'EEXIST'))) ?? false

const removeAbandonedDrafts = async (home: string): Promise<void> => {
  for (const name of await readdir(home)) {
    if (!name.startsWith(draftPrefix)) continue
    if ((await ownerIfAlive(name.slice(draftPrefix.length))) !== null) continue
    await rm(join(home, name), { recursive: true, force: true })
  }
}

/** Claims the folder for this process, or throws an error that names the process that owns it. */
export const claimFolder = async (home: string, dataDir: string, waitMs = defaultWaitMs) => {
  const lock = join(home, lockName)
  const token = await ownToken()
  const draft = join(home, `${draftPrefix}${token}`)
  await mkdir(draft)
  await giveToFolderOwner(draft)
  await writeFile(join(draft, token), '')
  const end = performance.now() + waitMs
  for (;;) {
    const owner = await currentOwner(lock)
    if (owner === null && (await tryAcquire(draft, lock))) break
    if (owner !== null && (owner === process.pid || performance.now() >= end)) {
      await rm(draft, { recursive: true, force: true })
      throw new OperatorFault(
        `The service with pid ${owner} already uses DATA_DIR ${dataDir}. ` +
          'Stop that service first, or set another DATA_DIR for this one.',
      )
    }
    if (owner !== null) await pause(50)
  }
  await removeAbandonedDrafts(home)
  return {
    release: async (): Promise<void> => {
      await rm(join(lock, token), { force: true })
      await rmdir(lock).catch(nullFor('ENOENT', 'ENOTEMPTY', 'EEXIST'))
    },
  }
}

export type FolderClaim = Awaited<ReturnType<typeof claimFolder>>
