import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../ground/config/config.ts'

/** A fault with a message a person can act on. */
export class MasterKeyFault extends Error {}

const cannotWrite = (error: Error): never => {
  throw new MasterKeyFault(`DATA_DIR cannot hold the master key (${error.message}). Set DATA_DIR or MASTER_KEY.`)
}

/** The configured master key or, outside production, the one made once and kept in the data folder. */
export const resolveMasterKey = async (config: Config): Promise<Buffer> => {
  if (config.masterKey) return config.masterKey
  const file = join(config.dataDir, 'master.key')
  await mkdir(config.dataDir, { recursive: true }).catch(cannotWrite)
  // Exclusive: of two first starts one writes, and both read what was written.
  await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' }).catch((error) => {
    if (error.code !== 'EEXIST') cannotWrite(error)
  })
  const key = Buffer.from((await readFile(file, 'utf8')).trim(), 'base64')
  if (key.length !== 32)
    throw new MasterKeyFault(`${file} does not hold a master key of 32 bytes; restore it from a backup`)
  return key
}
