import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../platform/ground/config/config.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'

const cannotWrite = (error: Error): never => {
  throw new OperatorFault(
    `The master key cannot be written to DATA_DIR (${error.message}). Set DATA_DIR to a writable folder, or set MASTER_KEY.`,
  )
}

/** Where the master key of this configuration is. */
export const masterKeyLocation = (config: Config): string =>
  config.masterKey ? 'MASTER_KEY' : join(config.dataDir, 'master.key')

const readKeyFile = async (file: string): Promise<Buffer> => {
  const key = Buffer.from((await readFile(file, 'utf8')).trim(), 'base64')
  if (key.length !== 32) {
    throw new OperatorFault(`${file} does not contain a 32-byte master key. Restore the file from a backup.`)
  }
  return key
}

/** Returns the master key, or null if the service has not generated one yet. Never generates one. */
export const findMasterKey = async (config: Config): Promise<Buffer | null> => {
  if (config.masterKey) return config.masterKey
  return readKeyFile(masterKeyLocation(config)).catch((error) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}

/** Returns the configured master key. Outside production, one is generated once and stored in the data folder. */
export const resolveMasterKey = async (config: Config): Promise<Buffer> => {
  if (config.masterKey) return config.masterKey
  const file = masterKeyLocation(config)
  await mkdir(config.dataDir, { recursive: true }).catch(cannotWrite)
  // The exclusive flag lets only one of two concurrent first starts write the file. Both read it afterwards.
  await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' }).catch((error) => {
    if (error.code !== 'EEXIST') cannotWrite(error)
  })
  return readKeyFile(file)
}
