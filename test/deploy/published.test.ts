/** The published package: what it contains, and that it serves the dashboard without a build. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceFlags } from '../../bin/flags.js'
import { makeTestDatabase, type TestDatabase } from '../service/database.ts'

const root = join(import.meta.dirname, '..', '..')
const packageJson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const must = (command: string, args: string[], cwd = root): string => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed with ${status}\n${stdout}\n${stderr}`)
  return stdout
}

let folder: string
let installed: string
let packed: string[]
let database: TestDatabase

beforeAll(async () => {
  database = await makeTestDatabase()
  folder = mkdtempSync(join(tmpdir(), 'tidings-published-'))
  installed = join(folder, 'package')
  // What `prepack` does, except that a dashboard that is up to date is not built again.
  must(process.execPath, ['scripts/build.js'])
  must(process.execPath, ['scripts/build-web.js', '--if-changed'])
  const [pack] = JSON.parse(must('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]))
  packed = pack.files.map(({ path }: { path: string }) => path)
  must('tar', ['-xzf', join(folder, pack.filename), '-C', folder])
  symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await database.drop()
})

test('the package is built before it is packed', () => {
  expect(packageJson.scripts.prepack).toBe('npm run build && npm run sbom')
  expect(packageJson.scripts.build).toContain('scripts/build-all.js')
})

test('the package contains the bundle, the migrations and every file of the dashboard, and nothing that is built from', () => {
  const built = readdirSync(join(root, 'dist', 'web'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
  const migrations = readdirSync(join(root, 'src', 'platform', 'db', 'migrations')).map(
    (name) => `dist/migrations/${name}`,
  )
  expect(built.length).toBeGreaterThan(50)
  expect(packed).toEqual(expect.arrayContaining([...built, ...migrations]))
  const programs = [
    'bin/tidings.js',
    'bin/flags.js',
    'dist/tidings.mjs',
    'dist/tidings.mjs.map',
    'dist/verify-in-thread.mjs',
  ]
  expect(packed).toEqual(expect.arrayContaining(programs))
  expect(packed.filter((path) => /^(src|web|test|bench|scripts|node_modules|dist\/compiled)\//.test(path))).toEqual([])
})

test('the unpacked package serves the dashboard and its hashed files without a build', async () => {
  const child = spawn(process.execPath, [...serviceFlags, 'bin/tidings.js', 'api'], {
    cwd: installed,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.TEST_COMPILE_CACHE,
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_DIR: join(folder, 'data'),
      DATABASE_URL: database.url,
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text
    })
  }
  const url = () => /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
  await expect.poll(() => url() ?? (child.exitCode === null ? undefined : output), { timeout: 60_000 }).toMatch(/^http/)
  const page = await fetch(`${url()}/sign-in`, { headers: { accept: 'text/html' } })
  const html = await page.text()
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const assets = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path as string)
  expect(assets.length).toBeGreaterThan(1)
  for (const path of assets) {
    const asset = await fetch(`${url()}${path}`)
    expect([path, asset.status, await asset.text()]).toEqual([
      path,
      200,
      readFileSync(join(root, 'dist', 'web', path), 'utf8'),
    ])
  }
  child.kill('SIGTERM')
  expect((await once(child, 'exit'))[0]).toBe(0)
  expect(output).not.toContain('Building the dashboard')
  expect(existsSync(join(installed, 'scripts'))).toBe(false)
})
