import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  contentOf,
  contentsOf,
  empty,
  expectEmptySchema,
  fileName,
  fileSource,
  known,
  masterKey,
  needsOf,
  opening,
  pipeSource,
  restoreInto,
} from '../../../test/service/backups.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { backUpToFile } from './backup.ts'
import { type Opening, openBackup } from './open-backup.ts'
import { restore } from './restore.ts'

let source: TestDatabase
let whole: Buffer
let content: Buffer

const refusal = (reason: string) =>
  new OperatorFault(
    `The backup is not authenticated: ${reason}. Nothing was restored. To restore it anyway, add --allow-unauthenticated.`,
  )
const changed = refusal('it was changed or damaged, because its authentication code is wrong')
const truncated = refusal('it is truncated')

/** Opens a backup in chunks of an odd length, and returns its content and what was reported. */
const opened = async (bytes: Buffer, options: Partial<Opening> = {}) => {
  const chunks = Array.from({ length: Math.ceil(bytes.length / 777) }, (_, i) => bytes.subarray(i * 777, (i + 1) * 777))
  const reasons: string[] = []
  const parts: Buffer[] = []
  const reading = openBackup(Readable.from(chunks), { ...opening, ...options }, (reason) => reasons.push(reason))
  for await (const part of reading) parts.push(part)
  return { content: Buffer.concat(parts), reasons }
}

const flipped = (at: number, bit = 1): Buffer => {
  const bytes = Buffer.from(whole)
  bytes[at] = bytes[at]! ^ bit
  return bytes
}

/** A flipped bit could make a digit of the first line something else, and the file no backup. */
const withOtherDigit = (at: number): Buffer => {
  const bytes = Buffer.from(whole)
  bytes.write(bytes.toString('latin1', at, at + 1) === '0' ? '1' : '0', at, 'latin1')
  return bytes
}

const backedUp = async (): Promise<Buffer> => {
  const file = fileName()
  await backUpToFile(needsOf(source), file)
  return readFile(file)
}

beforeAll(async () => {
  source = await makeTestDatabase()
  await source.sql(
    `insert into settings select 's' || i, to_jsonb(md5(i::text)), '2026-01-01' from generate_series(1, 50) i`,
  )
  const file = fileName()
  await backUpToFile(needsOf(source), file)
  whole = await readFile(file)
  content = await contentOf(file)
})

afterAll(() => source.drop())

describe('a backup', () => {
  test('opens with the master key that made it, also when that is a previous one', async () => {
    for (const masterKeys of [[masterKey], [randomBytes(32), masterKey]]) {
      expect(await opened(whole, { masterKeys })).toEqual({ content, reasons: [] })
    }
    expect(await opened(whole, { allowUnauthenticated: true })).toEqual({ content, reasons: [] })
  })

  test('is refused whichever byte is changed', async () => {
    for (let at = 0; at < whole.length; at++) {
      await expect(opened(flipped(at, 1 << (at % 8))), `byte ${at}`).rejects.toThrow(OperatorFault)
    }
    await expect(opened(withOtherDigit(whole.indexOf('\n') - 1))).rejects.toThrow(changed)
    await expect(opened(flipped(Math.floor(whole.length / 2)))).rejects.toThrow(changed)
    await expect(opened(flipped(whole.length - 1))).rejects.toThrow(changed)
    await expect(opened(flipped(0))).rejects.toThrow(new OperatorFault('This file is not a Tidings backup.'))
  })

  test('is refused wherever it is cut, and when something follows it', async () => {
    for (let length = 0; length < whole.length; length++) {
      await expect(opened(whole.subarray(0, length)), `${length} bytes`).rejects.toThrow(OperatorFault)
    }
    await expect(opened(whole.subarray(0, -1))).rejects.toThrow(truncated)
    // Without its last frame, which is empty, the content is complete.
    await expect(opened(whole.subarray(0, -36))).rejects.toThrow(truncated)
    await expect(opened(Buffer.concat([whole, Buffer.from('x')]))).rejects.toThrow(
      refusal('it continues after its end'),
    )
  })

  test('is refused with another master key, and with a forged key id', async () => {
    const id = whole.toString('latin1').split(' ')[2]
    await expect(opened(whole, { masterKeys: [randomBytes(32)] })).rejects.toThrow(
      refusal(`it was made with the master key ${id}, which is not configured`),
    )
    const forger = randomBytes(32)
    const file = fileName()
    await backUpToFile({ ...needsOf(source), masterKey: forger }, file)
    const forged = await readFile(file)
    forged.write(id!, 'tidings-backup 2 '.length)
    await expect(opened(forged)).rejects.toThrow(changed)
  })

  test('is refused with the frames of another backup of the same installation', async () => {
    const other = await backedUp()
    const headerEnd = whole.indexOf('\n') + 1
    const spliced = Buffer.concat([whole.subarray(0, headerEnd), other.subarray(headerEnd)])
    await expect(opened(spliced)).rejects.toThrow(changed)
  })

  test('does not make the reader allocate what a changed length announces', async () => {
    const bytes = Buffer.from(whole)
    bytes.writeUInt32BE(0x7fff_ffff, whole.indexOf('\n') + 1)
    await expect(opened(bytes, { allowUnauthenticated: true })).rejects.toThrow('The backup was changed or damaged.')
  })

  test('of an earlier version is refused, because it is not authenticated', async () => {
    await expect(opened(content)).rejects.toThrow(refusal('it was made by a version that did not authenticate backups'))
    expect(await opened(content, { allowUnauthenticated: true })).toEqual({
      content,
      reasons: ['it was made by a version that did not authenticate backups'],
    })
  })
})

/** A change in the first bytes can make the file look like something else. */
const anyRefusal = /not authenticated: .* Nothing was rest|not a Tidings backup/

test('a refused backup leaves the database as it was, whether it is a file or a pipe', async () => {
  const target = await empty()
  const middle = Math.floor(whole.length / 2)
  for (const bytes of [flipped(30), flipped(middle), flipped(whole.length - 1), whole.subarray(0, -36), content]) {
    const file = fileName()
    await writeFile(file, bytes)
    for (const source of [fileSource(file), pipeSource(bytes)]) {
      await expect(restoreInto(target, source, known)).rejects.toThrow(anyRefusal)
    }
    await expectEmptySchema(target)
  }
})

describe('with the override, a backup', () => {
  const allowed = { ...opening, allowUnauthenticated: true }

  test.each<[string, () => Buffer, Partial<Opening>, RegExp]>([
    ['of an earlier version', () => content, {}, /^it was made by a version that did not authenticate backups$/],
    ['with a wrong code', () => flipped(whole.length - 1), {}, /^it was changed or damaged, because its auth/],
    ['without its last frame', () => whole.subarray(0, -36), {}, /^it is truncated$/],
    [
      'of another master key',
      () => whole,
      { masterKeys: [] },
      /^it was made with the master key [0-9a-f]{8}, which is not/,
    ],
  ])('%s is restored, and the reason is reported', async (_, bytes, options, reason) => {
    const target = await empty()
    const needs = { ...needsOf(target), migrations: known, opening: { ...allowed, ...options } }
    const restored = await restore(needs, pipeSource(bytes()))
    expect(restored.unauthenticated).toMatch(reason)
    expect(await contentsOf(target)).toEqual(await contentsOf(source))
  })

  test('is still refused if its content is damaged', async () => {
    const target = await empty()
    const damaged = pipeSource(flipped(Math.floor(whole.length / 2)))
    await expect(restoreInto(target, damaged, known, allowed)).rejects.toThrow(OperatorFault)
    await expectEmptySchema(target)
  })
})
