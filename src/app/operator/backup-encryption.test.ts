import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { Encrypter, generateIdentity, identityToRecipient } from 'age-encryption'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  contentsOf,
  empty,
  expectEmptySchema,
  fileName,
  fileSource,
  known,
  needsOf,
  opening,
  pipeSource,
} from '../../../test/service/backups.ts'
import { cheapPassphrases } from '../../../test/service/cheap-passphrase.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { backUpToFile } from './backup.ts'
import { readBytes } from './backup-bytes.ts'
import { decryptBackup, encryptBackup, makeEncrypter } from './backup-encryption.ts'
import { type Opening, openBackup } from './open-backup.ts'
import { restore } from './restore.ts'

/** Made before the tests lower its cost. */
const ordinary = makeEncrypter({ passphrase: 'correct horse battery' })
cheapPassphrases()

let source: TestDatabase
let identity: string
let encrypted: Buffer

const open = async (bytes: Buffer, options: Partial<Opening>) => {
  const parts: Buffer[] = []
  for await (const part of openBackup(Readable.from([bytes]), { ...opening, ...options }, () => undefined)) {
    parts.push(part)
  }
  return Buffer.concat(parts)
}

beforeAll(async () => {
  source = await makeTestDatabase()
  await source.sql(
    `insert into settings select 'secret-' || i, to_jsonb(md5(i::text)), '2026-01-01' from generate_series(1, 3000) i`,
  )
  identity = await generateIdentity()
  const file = fileName()
  const encryptTo = { recipients: [await identityToRecipient(identity)] }
  await backUpToFile({ ...needsOf(source), encryptTo }, file)
  encrypted = await readFile(file)
})

afterAll(() => source.drop())

const cannotDecrypt = new OperatorFault('The backup was changed, damaged or truncated: it cannot be decrypted.')

describe('a backup encrypted to a recipient', () => {
  test('is an age file that its identity opens, and is restored from a file and a pipe', async () => {
    expect(encrypted.subarray(0, 22).toString()).toBe('age-encryption.org/v1\n')
    const file = fileName()
    await writeFile(file, encrypted)
    for (const from of [fileSource(file), pipeSource(encrypted)]) {
      const target = await empty()
      const how = { ...opening, identities: [await generateIdentity(), identity] }
      const { unauthenticated } = await restore({ ...needsOf(target), migrations: known, opening: how }, from)
      expect(unauthenticated).toBeNull()
      expect(await contentsOf(target)).toEqual(await contentsOf(source))
    }
  })

  test('is refused with another identity, without one, and with a passphrase', async () => {
    const target = await empty()
    const attempts: [Partial<Opening>, string][] = [
      [{ identities: [await generateIdentity()] }, 'The backup cannot be decrypted with this identity.'],
      [{}, 'The backup is encrypted to an age recipient. Give its identity with --identity <file>.'],
      [
        { passphrase: 'a long passphrase' },
        'The backup is encrypted to an age recipient. Give its identity with --identity <file>.',
      ],
    ]
    for (const [options, message] of attempts) {
      const needs = { ...needsOf(target), migrations: known, opening: { ...opening, ...options } }
      await expect(restore(needs, pipeSource(encrypted))).rejects.toThrow(new OperatorFault(message))
    }
    await expectEmptySchema(target)
  })

  test('is refused when a byte is changed or it is cut, even with the override', async () => {
    const options = { identities: [identity], allowUnauthenticated: true }
    const positions = [25, 60, 150, 200, 230, 70_000, Math.floor(encrypted.length / 2), encrypted.length - 1]
    for (const at of positions) {
      const bytes = Buffer.from(encrypted)
      bytes[at] = bytes[at]! ^ 4
      await expect(open(bytes, options), `byte ${at}`).rejects.toThrow(OperatorFault)
    }
    const last = Buffer.from(encrypted)
    last[last.length - 1]! ^= 1
    await expect(open(last, options)).rejects.toThrow(cannotDecrypt)
    for (const length of [30, 150, 250, 66_000, encrypted.length - 1]) {
      await expect(open(encrypted.subarray(0, length), options), `${length}`).rejects.toThrow(cannotDecrypt)
    }
    await expect(open(Buffer.concat([encrypted, Buffer.from('x')]), options)).rejects.toThrow(cannotDecrypt)
  })

  test('is refused if somebody else encrypted it, because a recipient is no secret', async () => {
    const encrypter = new Encrypter()
    encrypter.addRecipient(await identityToRecipient(identity))
    const file = fileName()
    await backUpToFile({ ...needsOf(source), masterKey: randomBytes(32) }, file)
    const forged = Buffer.from(await encrypter.encrypt(await readFile(file)))
    await expect(open(forged, { identities: [identity] })).rejects.toThrow(
      /not authenticated: it was made with the master key/,
    )
  })

  test('is refused if its header is endless', async () => {
    const endless = Buffer.concat([Buffer.from('age-encryption.org/v1\n-> X25519 '), Buffer.alloc(200_000, 'A')])
    await expect(open(endless, { identities: [identity] })).rejects.toThrow(cannotDecrypt)
  })
})

test('the key of a passphrase is derived at the cost that age recommends', () => {
  expect(Reflect.get(ordinary, 'scryptWorkFactor')).toBe(18)
})

test('a backup encrypted with a passphrase opens with that passphrase only', async () => {
  const file = fileName()
  const passphrase = 'correct horse battery'
  await backUpToFile({ ...needsOf(source), encryptTo: { passphrase } }, file)
  const bytes = await readFile(file)
  expect((await open(bytes, { passphrase })).subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]))
  await expect(open(bytes, { passphrase: 'another passphrase' })).rejects.toThrow(
    new OperatorFault('The backup cannot be decrypted: the passphrase is wrong.'),
  )
  await expect(open(bytes, { identities: [identity] })).rejects.toThrow(
    new OperatorFault(
      'The backup is encrypted with a passphrase. Give it with --passphrase-file <file> or BACKUP_PASSPHRASE.',
    ),
  )
})

test('encryption and decryption read no further ahead than a few chunks', async () => {
  const total = 400
  let produced = 0
  async function* chunks() {
    for (; produced < total; produced++) yield randomBytes(64 * 1024)
  }
  const to = { recipients: [await identityToRecipient(identity)] }
  const secret = { identities: [identity] }
  let received = 0
  let farthest = 0
  for await (const part of decryptBackup(readBytes(encryptBackup(chunks(), to)), secret)) {
    received += part.length
    farthest = Math.max(farthest, produced - received / 65_536)
  }
  expect(received).toBe(total * 65_536)
  expect(farthest).toBeLessThan(20)
})
