/**
 * `npm run -s screenshots -- <folder> [parts of paths]`: takes a picture of every page of the dashboard at three widths in
 * both themes, with the data of test/browser/seeds. Parts are separated by commas: `tenants,projects`. `--docs` in the
 * place of a folder takes the images of the README and the docs again.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { sayWhatRuns } from './list-tests.ts'
import { isStartOnly } from './start-only.ts'

const root = dirname(import.meta.dirname)
const tests = 'test/browser/browser.test.ts'
const [named, part = ''] = process.argv.slice(2).filter((arg) => arg !== '--start-only')
const forDocs = named === '--docs'
const folder = forDocs ? join(root, 'docs', 'images') : named
if (folder === undefined) {
  console.error('Name a folder for the pictures: npm run -s screenshots -- /tmp/pictures')
  process.exit(1)
}
if (isStartOnly()) {
  sayWhatRuns(tests)
  process.exit()
}
mkdirSync(folder, { recursive: true })
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const title = forDocs ? 'Images of the docs' : 'Pictures of'
const target = forDocs ? { DOC_IMAGES: folder } : { SCREENSHOTS: resolve(folder), SCREENSHOTS_OF: part }
const { status } = spawnSync(process.execPath, [vitest, 'run', tests, '-t', title], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, ...target },
})
process.exitCode = status ?? 1
