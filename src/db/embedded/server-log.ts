/** PostgreSQL's own log: a bounded file in DATA_DIR, quoted from when something goes wrong. */
import { open, readFile, rename, stat, truncate } from 'node:fs/promises'
import { leaveToOwner } from './account.ts'
import { absentAsNull, lastLines } from './embedded-fault.ts'

const rotateAt = 1_000_000
const truncateAt = 8_000_000

export const openLog = async (file: string) => {
  const size = (await stat(file).catch(absentAsNull))?.size ?? 0
  if (size > rotateAt) await rename(file, `${file}.1`)
  const handle = await open(file, 'a', 0o600)
  await leaveToOwner(file)
  return { handle, from: (await handle.stat()).size }
}

/** The server appends to a file it holds open, so emptying it in place is the way to bound it while it runs. */
export const boundLog = async (file: string): Promise<void> => {
  const size = (await stat(file).catch(absentAsNull))?.size ?? 0
  if (size > truncateAt) await truncate(file)
}

export const readLog = async (file: string, from = 0): Promise<string> =>
  ((await readFile(file).catch(absentAsNull)) ?? Buffer.alloc(0)).subarray(from).toString()

export const lastLogLines = async (file: string): Promise<string> => lastLines(await readLog(file))
