/** Help and usage: printed without a database and without a valid configuration. */
import { describe, expect, test } from 'vitest'
import { tidings } from '../../../test/service/command-line.ts'
import { usageFor } from './usage.ts'

/** A command that read this configuration would fail. */
const invalid = { PORT: 'x', DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('tidings'))

describe('prints usage and exits with 0', () => {
  test.each([
    [['help'], 'tidings start', 23],
    [['--help'], 'tidings start', 23],
    [['ops'], 'tidings ops org create', 16],
    [['ops', '--help'], 'tidings ops org create', 16],
    [['ops', 'org', '--help'], 'tidings ops org create', 7],
    [['ops', 'org', 'status', 'org_1', '--json', '-h'], 'tidings ops org status <org_id>', 1],
    [['start', '--help'], 'tidings start', 1],
    [['backup', '--help'], 'tidings backup <file>', 1],
  ])('%j', async (args, first, lines) => {
    const { code, stdout, stderr } = await tidings(args, invalid)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(new RegExp(`^${first}`))
    expect(linesOf(stdout)).toHaveLength(lines)
  })

  test.each([[[]], [['-h']], [['help', 'ops', 'audit']], [['ops', 'help']], [['ops', 'key']], [['help', 'worker']]])(
    'also for %j',
    (args) => {
      expect(usageFor(args)).toMatchObject({ asked: true, text: expect.stringMatching(/^tidings /) })
    },
  )
})

test('A command that does not exist exits with 1, with or without --help', async () => {
  const usage = usageFor(['ops'])?.text
  expect(await tidings(['ops', 'org', 'creat', '--help'], invalid)).toEqual({
    code: 1,
    stdout: '',
    stderr: `Unknown command: ops org creat.\n\n${usage}\n`,
  })
  const all = usageFor([])?.text
  expect(await tidings(['strat'], invalid)).toEqual({
    code: 1,
    stdout: '',
    stderr: `Unknown command: strat.\n\n${all}\n`,
  })
})

test('A command with all its words runs', () => {
  for (const args of [
    ['start'],
    ['ops', 'dns'],
    ['ops', 'org', 'list', '--json'],
    ['ops', 'audit', 'head'],
    ['backup', 'help'],
  ]) {
    expect(usageFor(args)?.asked, args.join(' ')).toBe(false)
  }
})
