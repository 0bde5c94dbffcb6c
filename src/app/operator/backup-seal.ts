/**
 * Authenticates a backup. A sealed backup is a line with the id of the master key and a random salt, followed by frames:
 * the length of the content, the content, and its HMAC-SHA-256. Every frame is verified before its content is used. The
 * code covers the position of the frame and whether it is the last one, so frames cannot be removed, repeated, reordered
 * or taken from another backup.
 */
import { createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { masterKeyId, sameBytes } from '../../platform/ground/crypto.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import type { ByteReader } from './backup-bytes.ts'

const magic = 'tidings-backup 2 '
const headerShape = /^tidings-backup 2 ([0-9a-f]{8}) [A-Za-z0-9_-]{43}\n$/
const headerBytes = magic.length + 8 + 1 + 43 + 1
const gzipMagic = Buffer.from([0x1f, 0x8b])

const lengthBytes = 4
const codeBytes = 32
const lastFrame = 0x8000_0000
const maxContentBytes = 1024 * 1024

/** The whole header is the salt, so that another header gives another key. */
const keyOf = (masterKey: Buffer, header: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, header, 'tidings backup authentication', 32))

const codeOf = (key: Buffer, index: number, length: Buffer, content: Buffer): Buffer => {
  const position = Buffer.alloc(8)
  position.writeBigUInt64BE(BigInt(index))
  return createHmac('sha256', key).update(position).update(length).update(content).digest()
}

/** Yields the sealed form of the content. */
export async function* sealBackup(content: AsyncIterable<Buffer>, masterKey: Buffer): AsyncGenerator<Buffer> {
  const header = Buffer.from(`${magic}${masterKeyId(masterKey)} ${randomBytes(32).toString('base64url')}\n`)
  yield header
  const key = keyOf(masterKey, header)
  let index = 0
  const frame = (bytes: Buffer, flag: number): Buffer => {
    const length = Buffer.alloc(lengthBytes)
    length.writeUInt32BE(bytes.length + flag)
    return Buffer.concat([length, bytes, codeOf(key, index++, length, bytes)])
  }
  for await (const chunk of content) {
    for (let from = 0; from < chunk.length; from += maxContentBytes) {
      yield frame(chunk.subarray(from, from + maxContentBytes), 0)
    }
  }
  yield frame(Buffer.alloc(0), lastFrame)
}

type Seal = {
  /** The current master key and the previous ones. */
  masterKeys: Buffer[]
  /** Returns if the backup may be read although it is not authenticated, and throws otherwise. */
  onUnauthenticated: (reason: string) => void
}

const notABackup = () => new OperatorFault('This file is not a Tidings backup.')

/** Yields the content of the frames. Without a key, no frame is verified. */
async function* framesIn(reader: ByteReader, givenKey: Buffer | undefined, seal: Seal): AsyncGenerator<Buffer> {
  let key = givenKey
  const fail = (reason: string): void => {
    seal.onUnauthenticated(reason)
    key = undefined
  }
  for (let index = 0; ; index++) {
    const length = await reader.take(lengthBytes)
    if (length.length < lengthBytes) return fail('it is truncated')
    const announced = length.readUInt32BE()
    const isLast = announced >= lastFrame
    const size = isLast ? announced - lastFrame : announced
    // A length is not verified before its content was read, so it must be bounded.
    if (size > maxContentBytes) throw new OperatorFault('The backup was changed or damaged.')
    const content = await reader.take(size)
    const code = await reader.take(codeBytes)
    if (content.length < size || code.length < codeBytes) {
      fail('it is truncated')
    } else if (key && !sameBytes(codeOf(key, index, length, content), code)) {
      fail('it was changed or damaged, because its authentication code is wrong')
    }
    yield content
    if (!isLast) continue
    if ((await reader.peek(1)).length > 0) fail('it continues after its end')
    return
  }
}

/**
 * Yields the content of a sealed backup. Calls `onUnauthenticated` before it yields anything that is not authenticated.
 * A backup of an earlier version is gzipped content without a seal.
 */
export async function* openSeal(reader: ByteReader, seal: Seal): AsyncGenerator<Buffer> {
  if ((await reader.peek(gzipMagic.length)).equals(gzipMagic)) {
    seal.onUnauthenticated('it was made by a version that did not authenticate backups')
    yield* reader.rest()
    return
  }
  const header = await reader.take(headerBytes)
  const [, id] = headerShape.exec(header.toString('latin1')) ?? []
  if (id === undefined) throw notABackup()
  const masterKey = seal.masterKeys.find((key) => masterKeyId(key) === id)
  if (!masterKey) seal.onUnauthenticated(`it was made with the master key ${id}, which is not configured`)
  yield* framesIn(reader, masterKey && keyOf(masterKey, header), seal)
}
