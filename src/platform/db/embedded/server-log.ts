/** The log of PostgreSQL: a file of limited size in DATA_DIR. Error messages quote its last lines. */
import { open, readFile, rename, stat, truncate } from 'node:fs/promises'
import { giveToFolderOwner } from './account.ts'
import { absentAsNull, lastLines } from './errno.ts'

const rotateAt = 1_000_000
const truncateAt = 8_000_000

export const openLog = async (file: string) => {
  const size = (await stat(file).catch(absentAsNull))?.size ?? 0
  if (size > rotateAt) await rename(file, `${file}.1`)
  const handle = await open(file, 'a', 0o600)
  await giveToFolderOwner(file)
  return { handle, from: (await handle.stat()).size }
}

/** Truncates the log in place, because the running server keeps the file open and appends to it. */
export const truncateLargeLog = async (file: string): Promise<void> => {
  const size = (await stat(file).catch(absentAsNull))?.size ?? 0
  if (size > truncateAt) await truncate(file)
}

export const readLog = async (file: string, from = 0): Promise<string> =>
  ((await readFile(file).catch(absentAsNull)) ?? Buffer.alloc(0)).subarray(from).toString()

export const lastLogLines = async (file: string): Promise<string> => lastLines(await readLog(file))
