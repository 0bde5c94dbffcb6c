import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../ground/config.ts'

/** The configured master key or, outside production, the one made once and kept in the data folder. */
export const resolveMasterKey = async (config: Config): Promise<Buffer> => {
  if (config.masterKey) return config.masterKey
  const file = join(config.dataDir, 'master.key')
  await mkdir(config.dataDir, { recursive: true })
  // Exclusive: of two first starts one writes, and both read what was written.
  await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' }).catch(
    (error) => {
      if (error.code !== 'EEXIST') throw error
    },
  )
  const key = Buffer.from((await readFile(file, 'utf8')).trim(), 'base64')
  if (key.length !== 32)
    throw new Error(`${file} does not hold a master key of 32 bytes; restore it from a backup`)
  return key
}
