/**
 * One service per database folder. The lock is a folder that holds one file named after its owner's pid and birth:
 * a rename onto it succeeds only while it is empty or missing, so of any number of starters exactly one gets in,
 * and a dead owner's file is removed by its own name, which can never hit a new owner's.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { leaveToOwner } from './account.ts'
import { absentAsNull, EmbeddedFault, errnoOf } from './embedded-fault.ts'
import { birthOf, pause } from './processes.ts'

const lockName = 'service.lock'
const draftPrefix = `${lockName}.`

/** A service that was just told to stop may still be draining when its successor starts. */
const graceMs = 3000

const separator = '~'

const ownToken = async (): Promise<string> =>
  [process.pid, await birthOf(process.pid), randomBytes(4).toString('hex')].join(separator)

const livingOwner = async (token: string): Promise<number | null> => {
  const [pid = '', birth] = token.split(separator)
  return (await birthOf(Number(pid))) === birth ? Number(pid) : null
}

/** The pid of the service that owns the folder; removes what dead owners left. */
const currentOwner = async (lock: string): Promise<number | null> => {
  for (const token of (await readdir(lock).catch(absentAsNull)) ?? []) {
    const pid = await livingOwner(token)
    if (pid !== null) return pid
    await rm(join(lock, token), { force: true })
  }
  return null
}

const moveIn = async (draft: string, lock: string): Promise<boolean> => {
  try {
    await rename(draft, lock)
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOTEMPTY' || errnoOf(error) === 'EEXIST') return false
    throw error
  }
}

const sweepDrafts = async (home: string): Promise<void> => {
  for (const name of await readdir(home)) {
    if (!name.startsWith(draftPrefix)) continue
    if ((await livingOwner(name.slice(draftPrefix.length))) !== null) continue
    await rm(join(home, name), { recursive: true, force: true })
  }
}

export type FolderClaim = { release(): Promise<void> }

/** Claims the folder for this process, or fails naming the process that has it. */
export const claimFolder = async (home: string, dataDir: string, patienceMs = graceMs): Promise<FolderClaim> => {
  const lock = join(home, lockName)
  const token = await ownToken()
  const draft = join(home, `${draftPrefix}${token}`)
  await mkdir(draft)
  await leaveToOwner(draft)
  await writeFile(join(draft, token), '')
  const end = performance.now() + patienceMs
  for (;;) {
    const owner = await currentOwner(lock)
    if (owner === null && (await moveIn(draft, lock))) break
    if (owner !== null && (owner === process.pid || performance.now() >= end)) {
      await rm(draft, { recursive: true, force: true })
      throw new EmbeddedFault(
        `The service with pid ${owner} already uses DATA_DIR ${dataDir}. ` +
          'Stop that one first, or give this one a DATA_DIR of its own.',
      )
    }
    if (owner !== null) await pause(50)
  }
  await sweepDrafts(home)
  return {
    release: async () => {
      await rm(join(lock, token), { force: true })
      await rmdir(lock).catch((error) => {
        const code = errnoOf(error)
        if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
      })
    },
  }
}
