import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '..')

test('the package contains SECURITY.md and a bill of materials with the exact run-time dependencies', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-sbom-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'sbom.json')
  await promisify(execFile)(process.execPath, [join(root, 'scripts/sbom.ts'), file])
  const bom = JSON.parse(await readFile(file, 'utf8'))
  const pack = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  expect(pack.files).toEqual(expect.arrayContaining(['SECURITY.md', 'sbom.json']))
  expect(pack.scripts.prepack).toContain('npm run sbom')
  expect(bom).toMatchObject({
    bomFormat: 'CycloneDX',
    metadata: { component: { name: pack.name, version: pack.version, 'bom-ref': `${pack.name}@${pack.version}` } },
  })
  const versions: Record<string, string[]> = {}
  for (const { name, version } of bom.components) versions[name] = [...(versions[name] ?? []), version]
  for (const [name, version] of Object.entries({ ...pack.dependencies, ...pack.optionalDependencies })) {
    expect(versions[name], name).toContain(version)
  }
  // The lock file marks what only development needs. Everything else is listed, and nothing more.
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const needed = Object.entries<{ name?: string; version: string; dev?: boolean }>(lock.packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .map(([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`)
  const listed = bom.components.map(({ name, version }: { name: string; version: string }) => `${name}@${version}`)
  expect([...new Set(listed)].sort()).toEqual([...new Set(needed)].sort())
  for (const name of ['vitest', 'mailauth', 'typescript']) expect(versions[name], name).toBeUndefined()
})
