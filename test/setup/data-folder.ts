/** The folder of the database of a run: in memory if there is enough, because a database consists of hundreds of files. */
import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
/** The log of the server has up to 1 GB, and the databases that exist at the same time have less. */
const neededBytes = 4 * 1024 ** 3

const hasMemory = async (): Promise<boolean> => {
  const found = await statfs(memory).catch(() => undefined)
  return found !== undefined && Math.min(found.bavail * found.bsize, process.availableMemory()) > neededBytes
}

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

const prefix = 'tidings-test-'

/** Removes the folders of runs that were killed. A server that still uses one stops when it finds its files gone. */
const removeLeftovers = async (): Promise<void> => {
  for (const name of await readdir(memory)) {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : Number.NaN
    if (Number.isNaN(pid) || runs(pid)) continue
    await rm(join(memory, name), { recursive: true, force: true }).catch(() => undefined)
  }
}

export const makeDataFolder = async (): Promise<string> => {
  if (!(await hasMemory())) return mkdtemp(join(tmpdir(), prefix))
  await removeLeftovers()
  return mkdtemp(join(memory, `${prefix}${process.pid}-`))
}
