/** Commands that judge a release say so, and fail where it matters, when there was nothing that they could judge. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { firstToJudge } from '../locks/first-to-judge.ts'
import { findPostgres } from '../locks/server.ts'
import { run } from '../start/launched.ts'
import { root } from './named-commands.ts'

const unknownCommit = '0'.repeat(40)

const runProgram = async (program: string, args: string[], env: NodeJS.ProcessEnv = {}) => {
  const { PATH, HOME, TMPDIR } = process.env
  const ran = run(process.execPath, [join(root, program), ...args], { cwd: root, env: { PATH, HOME, TMPDIR, ...env } })
  const code = await ran.ended()
  return { code, output: ran.output(), errors: ran.errors() }
}

describe('npm run upgrade', () => {
  const skipped = `skipped: commit ${unknownCommit} is not in this clone. Run git fetch --unshallow, and try again.\n`
  const upgrade = (env: NodeJS.ProcessEnv) => runProgram('test/upgrade/run.ts', ['--from', unknownCommit], env)

  test('says that it is skipped when the clone lacks the previous release, and succeeds', async () => {
    expect(await upgrade({})).toEqual({ code: 0, output: skipped, errors: '' })
  })

  test('fails then in CI, where it must judge', async () => {
    expect(await upgrade({ CI: 'true' })).toEqual({
      code: 1,
      output: skipped,
      errors: 'Nothing was judged, which fails in CI.\n',
    })
  })
})

describe('npm run locks', () => {
  test('fails when there is no migration since the previous release', () => {
    expect(() => firstToJudge('abc', 34, 34)).toThrow(
      'Nothing to judge: there is no migration since abc. Write one first, or name an earlier commit with --since.',
    )
    expect(firstToJudge('abc', 33, 34)).toBe(33)
  })

  test('fails when the clone lacks the previous release', async () => {
    expect(await runProgram('test/locks/run.ts', ['--since', unknownCommit])).toEqual({
      code: 1,
      output: '',
      errors: `Nothing to judge: commit ${unknownCommit} is not in this clone. Run git fetch --unshallow, and try again.\n`,
    })
  })

  test('fails when no PostgreSQL is installed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tidings-no-postgres-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await expect(findPostgres(folder)).rejects.toThrow(
      `Nothing to judge: there is no PostgreSQL in ${folder}. Install the package postgresql.`,
    )
  })
})
