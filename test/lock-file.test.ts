/** `npm ci` installs only what the lock file lists, so it must list the packages of every platform. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

type Locked = {
  version?: string
  resolved?: string
  integrity?: string
  /** Comes inside the package above it, whose checksum covers it. */
  inBundle?: boolean
  hasInstallScript?: boolean
  optionalDependencies?: Record<string, string>
}

const root = join(import.meta.dirname, '..')
const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>
}

test('the lock file lists the optional packages of every platform', () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !packages[`node_modules/${name}`] && !packages[`${path}/node_modules/${name}`])
      .map((name) => `${path || 'package.json'} needs ${name}`),
  )
  expect(missing).toEqual([])
})

test('the lock file names no registry and has a checksum for every package', async () => {
  const listed = Object.entries(packages).filter(([path]) => path !== '')
  expect(listed.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
  const unchecked = listed.filter(([, { integrity, inBundle }]) => !inBundle && !integrity?.startsWith('sha512-'))
  expect(unchecked).toEqual([])
  expect((await readFile(join(root, '.npmrc'), 'utf8')).split('\n')).toContain('omit-lockfile-registry-resolved=true')
})

test('package.json allows the install scripts that packages have, so that npm install runs them without a warning', async () => {
  // Without versions: npm compares them only with a lock file that names the registry. The lock file has checksums.
  const { allowScripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const withScript = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ''))
  expect(allowScripts).toEqual(Object.fromEntries(withScript.map((name) => [name, true])))
})
