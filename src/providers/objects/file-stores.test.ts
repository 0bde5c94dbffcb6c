/** What both stores do for files. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { s3Credentials, startS3Server } from '../../../test/servers/s3.ts'
import { diskFault, makeDiskStore } from './disk-store.ts'
import { ObjectStoreFault } from './object-store.ts'
import { makeS3Store } from './s3-store.ts'

const s3 = await startS3Server()
const folder = mkdtempSync(join(tmpdir(), 'tidings-store-'))
const place = { bucket: 'my-bucket', prefix: 'exports/' }
const inBucket = makeS3Store({ place, region: 'eu-west-1', endpoint: s3.url, credentials: s3Credentials })
const onDisk = makeDiskStore({ folder })
afterAll(async () => {
  inBucket.close()
  rmSync(folder, { recursive: true })
  await s3.close()
})

const megabyte = Buffer.alloc(1_048_576, 'x')

async function* chunks(count: number, fault?: Error): AsyncGenerator<Buffer> {
  for (let n = 0; n < count; n++) yield Buffer.from(megabyte)
  if (fault) throw fault
}

describe.each([
  ['disk', onDisk],
  ['s3', inBucket],
])('a file on %s', (_, store) => {
  test('is written as it arrives, read in parts, listed and removed', async () => {
    expect(await store.write('org_1/a', chunks(20))).toBe(true)
    expect(await store.sizeOf('org_1/a')).toBe(20 * megabyte.length)
    const part = await store.read('org_1/a', { from: 10, to: 19 })
    expect(part && (await buffer(part))).toEqual(Buffer.alloc(10, 'x'))
    const whole = await store.read('org_1/a')
    expect(whole && (await buffer(whole)).length).toBe(20 * megabyte.length)
    expect(await store.write('org_1/a', chunks(1))).toBe(false)
    expect(await store.write('org_1/a', chunks(10))).toBe(false)
    expect(await store.sizeOf('org_1/a')).toBe(20 * megabyte.length)
    expect(await Array.fromAsync(store.list('org_'))).toEqual(['org_1/a'])
    await store.remove('org_1/a')
    await store.remove('org_1/a')
    expect([await store.sizeOf('org_1/a'), await store.read('org_1/a')]).toEqual([undefined, undefined])
  })

  test('does not exist if its content ends with a fault, which is thrown unchanged', async () => {
    const fault = new Error('the database is gone')
    for (const count of [1, 20]) await expect(store.write('org_1/b', chunks(count, fault))).rejects.toBe(fault)
    expect(await store.sizeOf('org_1/b')).toBeUndefined()
    expect([s3.uploads.size, readdirSync(join(folder, '.unfinished'))]).toEqual([0, []])
  })
})

test('What killed writers have left unfinished is removed later', async () => {
  writeFileSync(join(folder, '.unfinished', 'old'), 'half')
  s3.uploads.set('upload-9', { name: 'my-bucket/exports/c', parts: [] })
  expect(await onDisk.removeUnfinished(new Date(0))).toBe(0)
  expect(await onDisk.removeUnfinished(new Date(Date.now() + 60_000))).toBe(1)
  expect(await inBucket.removeUnfinished(new Date())).toBe(1)
  expect([s3.uploads.size, readdirSync(join(folder, '.unfinished'))]).toEqual([0, []])
})

test('A full disk is distinguished from a folder that cannot be used', async () => {
  const full = diskFault(Object.assign(new Error('write /secret/path'), { code: 'ENOSPC' }))
  expect([full, (full as ObjectStoreFault).full]).toEqual([
    new ObjectStoreFault('the folder could not be used (ENOSPC)', true),
    true,
  ])
  writeFileSync(join(folder, 'a-file'), '')
  const store = makeDiskStore({ folder: join(folder, 'a-file') })
  await expect(store.write('a', chunks(1))).rejects.toThrow(
    new ObjectStoreFault('the folder could not be used (ENOTDIR)'),
  )
})
