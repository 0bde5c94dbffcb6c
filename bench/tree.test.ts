import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { presentTree, programIn } from './tree.ts'

const folder = await mkdtemp(join(tmpdir(), 'tidings-tree-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const program = (name: string) => new URL(`servers/${name}`, import.meta.url)

test('A program is looked for in the other tree by its name, then by its former name', async () => {
  const servers = join(folder, 'bench', 'servers')
  const tree = { folder, name: 'c9fd9ab', serviceFlags: [] }
  await mkdir(servers, { recursive: true })
  await writeFile(join(servers, 'house.ts'), '')
  await writeFile(join(servers, 'email.ts'), '')
  expect(programIn(tree, program('email.ts'))).toEqual(pathToFileURL(join(servers, 'email.ts')))
  expect(programIn(tree, program('service.ts'))).toEqual(pathToFileURL(join(servers, 'house.ts')))
  expect(programIn(tree, program('several.ts'))).toBeUndefined()

  await writeFile(join(servers, 'service.ts'), '')
  expect(programIn(tree, program('service.ts'))).toEqual(pathToFileURL(join(servers, 'service.ts')))
})

test('A program of the present tree is itself', () => {
  expect(programIn(presentTree, program('service.ts'))).toEqual(program('service.ts'))
})
