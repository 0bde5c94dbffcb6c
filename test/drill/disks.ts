/** Small disks for the nodes, so that one can be full. */
import { rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { exec } from './programs.ts'

const diskBytes = 1_024 ** 3

/** Only root can mount a disk. */
export const mountDisk = (folder: string, bytes = diskBytes): Promise<boolean> =>
  exec('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0755`, 'tidings-drill', folder]).then(
    () => true,
    () => false,
  )

/** Detached at once, also if a process still uses it. */
export const unmountDisk = async (folder: string): Promise<void> => {
  await exec('umount', ['-l', folder])
}

const availableIn = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** Takes all that is left of the disk, until `empty` is called. Refuses a disk that is not one of the small ones. */
export const fillDisk = async (folder: string): Promise<{ empty(): Promise<void> }> => {
  const available = await availableIn(folder)
  if (available > diskBytes) throw new Error(`${folder} has no small disk of its own`)
  const fillers: string[] = []
  // PostgreSQL writes at the same time, so the last bytes are taken in small steps.
  for (let step = available; step >= 4_096; step = Math.floor(step / 2)) {
    const filler = join(folder, `filler-${step}`)
    fillers.push(filler)
    await exec('fallocate', ['-l', String(step), filler]).catch(() => rm(filler, { force: true }))
  }
  return {
    empty: async () => {
      for (const filler of fillers) await rm(filler, { force: true })
    },
  }
}
