/** For commands that run test files: starts Vitest and lists the files, without running them. */
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { sayStarted } from './start-only.ts'

const root = dirname(import.meta.dirname)
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')

export const sayWhatRuns = (tests: string): void => {
  const { stdout, stderr } = spawnSync(process.execPath, [vitest, 'list', '--filesOnly', tests], {
    cwd: root,
    encoding: 'utf8',
  })
  const files = stdout.trim().split('\n').filter(Boolean)
  if (files.length === 0) throw new Error(`Vitest finds no files in ${tests}\n${stderr}`)
  sayStarted(`Vitest with ${files.join(', ')}`)
}
