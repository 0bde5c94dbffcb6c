import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeFirstRunFile } from './first-run-file.ts'

let folder: string
let file: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidings-first-run-'))
  file = join(folder, 'first.json')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const modeOf = async (path: string) => (await lstat(path)).mode & 0o777

test('the file is private and complete, and nothing else is left', async () => {
  await writeFirstRunFile(file, '{"keys":1}\n')
  expect([await readFile(file, 'utf8'), await modeOf(file), await readdir(folder)]).toEqual([
    '{"keys":1}\n',
    0o600,
    ['first.json'],
  ])
})

test('an existing file that others can read becomes private', async () => {
  await writeFile(file, 'old and longer than the new content')
  await chmod(file, 0o666)
  await writeFirstRunFile(file, 'new\n')
  expect([await readFile(file, 'utf8'), await modeOf(file)]).toEqual(['new\n', 0o600])
})

test('a reader never sees a part of the file', async () => {
  await writeFile(file, 'a'.repeat(1_000_000))
  const next = 'b'.repeat(1_000_000)
  let writing = true
  const seen = new Set<string>()
  const written = writeFirstRunFile(file, next).finally(() => {
    writing = false
  })
  while (writing) seen.add(await readFile(file, 'utf8'))
  await written
  for (const text of seen) expect([1_000_000, text[0]?.repeat(1_000_000) === text]).toEqual([text.length, true])
  expect(await readFile(file, 'utf8')).toBe(next)
})

test('a link is replaced, and the file that it names is not changed', async () => {
  const other = join(folder, 'other')
  await writeFile(other, 'untouched')
  await symlink(other, file)
  await writeFirstRunFile(file, 'new\n')
  expect([await readFile(other, 'utf8'), (await lstat(file)).isSymbolicLink()]).toEqual(['untouched', false])
})

test('a failure leaves no draft and does not change what exists', async () => {
  await mkdir(file)
  await expect(writeFirstRunFile(file, 'new\n')).rejects.toMatchObject({ code: 'EISDIR' })
  expect(await readdir(folder)).toEqual(['first.json'])
  await expect(writeFirstRunFile(join(folder, 'nowhere', 'file'), 'new\n')).rejects.toMatchObject({ code: 'ENOENT' })
})
