/**
 * `npm run -s screenshots -- <folder> [parts of paths]`: takes a picture of every page of the dashboard at three widths in
 * both themes, with the data of test/browser/seeds. Parts are separated by commas: `tenants,projects`.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const [folder, part = ''] = process.argv.slice(2)
if (folder === undefined) {
  console.error('Name a folder for the pictures: npm run -s screenshots -- /tmp/pictures')
  process.exit(1)
}
mkdirSync(folder, { recursive: true })
const root = dirname(import.meta.dirname)
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/browser', '-t', 'Pictures of'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, SCREENSHOTS: resolve(folder), SCREENSHOTS_OF: part },
})
process.exitCode = status ?? 1
