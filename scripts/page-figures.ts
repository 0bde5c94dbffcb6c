/**
 * `npm run -s page-figures`: measures the dashboard in a real browser on the real service, prints each figure with its
 * target, and exits with 1 when one is missed. Run it on an idle machine.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sayWhatRuns } from './list-tests.ts'
import { isStartOnly } from './start-only.ts'

const tests = 'test/browser/figures'
const [title] = process.argv.slice(2).filter((arg) => arg !== '--start-only')
if (isStartOnly()) {
  sayWhatRuns(tests)
  process.exit()
}

const root = dirname(import.meta.dirname)
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const folder = mkdtempSync(join(tmpdir(), 'page-figures-'))
const file = join(folder, 'figures.txt')
const only = title ? ['-t', title] : []
const { status } = spawnSync(process.execPath, [vitest, 'run', tests, ...only], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, PAGE_FIGURES: file },
})
if (existsSync(file)) console.log(readFileSync(file, 'utf8').trimEnd())
rmSync(folder, { recursive: true, force: true })
process.exitCode = status ?? 1
