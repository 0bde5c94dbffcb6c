import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { putInPlace } from '../../scripts/build-web.js'

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'tidings-build-web-'))
})
afterAll(() => rm(root, { recursive: true }))

/** A folder that looks like a finished build. */
const makeBuild = async (name: string, fingerprint: string): Promise<string> => {
  const folder = join(root, name)
  await mkdir(folder)
  await writeFile(join(folder, 'fingerprint'), fingerprint)
  return folder
}

test('A build takes the place of an older one, and nothing is left over', async () => {
  const folder = join(root, 'web')
  putInPlace(await makeBuild('draft-1', 'first'), folder)
  expect(await readFile(join(folder, 'fingerprint'), 'utf8')).toBe('first')
  putInPlace(await makeBuild('draft-2', 'second'), folder)
  expect(await readFile(join(folder, 'fingerprint'), 'utf8')).toBe('second')
  expect(await readdir(root)).toEqual(['web'])
})

test('A service that reads a build keeps it when another process has built the same sources', async () => {
  const folder = await makeBuild('same', 'same')
  const { ino } = await stat(folder)
  const draft = await makeBuild('draft-3', 'same')
  putInPlace(draft, folder)
  expect((await stat(folder)).ino).toBe(ino)
  expect(existsSync(draft)).toBe(true)
})
