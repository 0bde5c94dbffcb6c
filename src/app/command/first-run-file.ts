import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { syncFolderOf } from '../operator/backup.ts'

/**
 * Writes a file that only its owner can read, completely or not at all. The credentials in it are shown only once, and a
 * script that waits for the file must not read half of it. A file that exists already keeps neither its content nor its
 * mode, and a link is replaced, not followed.
 */
export const writeFirstRunFile = async (path: string, text: string): Promise<void> => {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncFolderOf(path)
}
