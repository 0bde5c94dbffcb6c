/** Encrypts and decrypts backups in the age format (age-encryption.org/v1), with one chunk in memory at a time. */
import { Decrypter, Encrypter } from 'age-encryption'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import type { ByteReader } from './backup-bytes.ts'

/** A passphrase or public keys. */
export type EncryptTo = { passphrase: string } | { recipients: string[] }

export type DecryptWith = { passphrase?: string | undefined; identities: string[] }

const ageMagic = Buffer.from('age-encryption.org/v1\n')
const maxHeaderBytes = 64 * 1024

/** Throws if a recipient is invalid. */
export const makeEncrypter = (to: EncryptTo): Encrypter => {
  const encrypter = new Encrypter()
  if ('passphrase' in to) encrypter.setPassphrase(to.passphrase)
  else for (const recipient of to.recipients) encrypter.addRecipient(recipient)
  return encrypter
}

/** Throws if an identity is invalid. */
export const makeDecrypter = ({ passphrase, identities }: DecryptWith): Decrypter => {
  const decrypter = new Decrypter()
  if (passphrase !== undefined) decrypter.addPassphrase(passphrase)
  for (const identity of identities) decrypter.addIdentity(identity)
  return decrypter
}

async function* asBuffers(stream: ReadableStream<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const bytes of stream) yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const streamOf = (chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array<ArrayBuffer>> =>
  ReadableStream.from(chunks) as ReadableStream<Uint8Array<ArrayBuffer>>

export async function* encryptBackup(content: AsyncIterable<Buffer>, to: EncryptTo): AsyncGenerator<Buffer> {
  yield* asBuffers(await makeEncrypter(to).encrypt(streamOf(content)))
}

export const isEncrypted = async (reader: ByteReader): Promise<boolean> =>
  (await reader.peek(ageMagic.length)).equals(ageMagic)

const cannotDecrypt = (cause: unknown) =>
  new OperatorFault('The backup was changed, damaged or truncated: it cannot be decrypted.', { cause })

/** Checks that the right kind of secret was given, because the library does not say which kind it needs. */
const assertSecretFits = (header: string, { passphrase, identities }: DecryptWith): void => {
  const needsPassphrase = header.includes('\n-> scrypt ')
  if (needsPassphrase && passphrase === undefined) {
    throw new OperatorFault(
      'The backup is encrypted with a passphrase. Give it with --passphrase-file <file> or BACKUP_PASSPHRASE.',
    )
  }
  if (!needsPassphrase && identities.length === 0) {
    throw new OperatorFault('The backup is encrypted to an age recipient. Give its identity with --identity <file>.')
  }
}

const wrongSecret = ({ identities }: DecryptWith) =>
  new OperatorFault(
    identities.length > 0
      ? 'The backup cannot be decrypted with this identity.'
      : 'The backup cannot be decrypted: the passphrase is wrong.',
  )

/** Yields the decrypted content. Every chunk of it is authenticated by the format. */
export async function* decryptBackup(reader: ByteReader, secret: DecryptWith): AsyncGenerator<Buffer> {
  const start = (await reader.peek(maxHeaderBytes)).toString('latin1')
  const endOfHeader = start.indexOf('\n--- ')
  if (endOfHeader < 0) throw cannotDecrypt(undefined)
  assertSecretFits(start.slice(0, endOfHeader), secret)
  try {
    const content = await makeDecrypter(secret)
      .decrypt(streamOf(reader.rest()))
      .catch((error: Error) => {
        throw /no identity matched/.test(error.message) ? wrongSecret(secret) : error
      })
    yield* asBuffers(content)
  } catch (error) {
    throw error instanceof OperatorFault ? error : cannotDecrypt(error)
  }
}
