/** The arguments of `tidings backup` and `tidings restore`. Secrets come from files or the environment, never from them. */
import { open } from 'node:fs/promises'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import type { Config } from '../../platform/ground/config/config.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { makeDecrypter, makeEncrypter } from '../operator/backup-encryption.ts'

const backupUsage =
  'Usage: tidings backup <file> [--encrypt-to <age recipient>] [--passphrase-file <file>]. Use - as the file for standard output.'
const restoreUsage =
  'Usage: tidings restore <file> [--identity <file>] [--passphrase-file <file>] [--allow-unauthenticated]. Use - as the file for standard input.'

const maxSecretFileBytes = 64 * 1024
const passphraseLength = { min: 12, max: 1_024 }
const maxRecipients = 20

type ArgOptions = NonNullable<ParseArgsConfig['options']>

/** The file, and the options. */
const parsed = <O extends ArgOptions>(args: string[], options: O, usage: string) => {
  try {
    const { positionals, values } = parseArgs({ args, allowPositionals: true, options })
    const [path, ...rest] = positionals
    if (path && rest.length === 0) return { path, values }
  } catch {
    // An option that does not exist, or that lacks its value.
  }
  throw new OperatorFault(usage)
}

const readSecretFile = async (path: string): Promise<string> => {
  const file = await open(path)
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxSecretFileBytes + 1), 0)
    if (bytesRead > maxSecretFileBytes) throw new OperatorFault(`${path} is too large for a secret.`)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

const passphraseOf = async (file: string | undefined, config: Config): Promise<string | undefined> => {
  if (file === undefined) return config.backupPassphrase
  const passphrase = (await readSecretFile(file)).replace(/\r?\n$/, '')
  const { min, max } = passphraseLength
  if (passphrase.length < min || passphrase.length > max) {
    throw new OperatorFault(`The passphrase in ${file} must have ${min} to ${max} characters.`)
  }
  return passphrase
}

const backupArgs = {
  'encrypt-to': { type: 'string', multiple: true },
  'passphrase-file': { type: 'string' },
} as const

/** A recipient comes before a passphrase of the environment. */
export const backupOptions = async (args: string[], config: Config) => {
  const { path, values } = parsed(args, backupArgs, backupUsage)
  const { 'encrypt-to': recipients = [], 'passphrase-file': file } = values
  if (recipients.length === 0) {
    const passphrase = await passphraseOf(file, config)
    return { path, encryptTo: passphrase === undefined ? undefined : { passphrase } }
  }
  if (file !== undefined) throw new OperatorFault('Use either --encrypt-to or --passphrase-file.')
  if (recipients.length > maxRecipients)
    throw new OperatorFault(`--encrypt-to can be given at most ${maxRecipients} times.`)
  try {
    makeEncrypter({ recipients })
  } catch (cause) {
    throw new OperatorFault('--encrypt-to must be an age recipient, such as age1….', { cause })
  }
  return { path, encryptTo: { recipients } }
}

const restoreArgs = {
  identity: { type: 'string' },
  'passphrase-file': { type: 'string' },
  'allow-unauthenticated': { type: 'boolean' },
} as const

/** The identities in a file as age-keygen writes it: one per line, among empty lines and comments. */
const identitiesIn = async (path: string): Promise<string[]> => {
  const lines = (await readSecretFile(path)).split('\n').map((line) => line.trim())
  const identities = lines.filter((line) => line !== '' && !line.startsWith('#'))
  try {
    if (identities.length > 0 && makeDecrypter({ identities })) return identities
  } catch {
    // The error could quote the line, which is a secret.
  }
  throw new OperatorFault(`${path} does not contain an age identity, such as AGE-SECRET-KEY-1….`)
}

export const restoreOptions = async (args: string[], config: Config) => {
  const { path, values } = parsed(args, restoreArgs, restoreUsage)
  return {
    path,
    decryptWith: {
      identities: values.identity === undefined ? [] : await identitiesIn(values.identity),
      passphrase: await passphraseOf(values['passphrase-file'], config),
    },
    allowUnauthenticated: values['allow-unauthenticated'] === true,
  }
}
