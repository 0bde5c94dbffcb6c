/** Every command of package.json and of the documentation starts. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { usageFor } from '../../src/app/command/usage.ts'
import { makeTestDatabase, type TestDatabase } from '../service/database.ts'
import { run } from '../start/launched.ts'
import { codeIn, namedCommands, root, scriptOf, scripts, tidingsOf } from './named-commands.ts'
import { runsOthers, shortFormOf, whatToDo } from './short-forms.ts'

const named = namedCommands()
const namedScripts = named.flatMap(({ page, words }) => {
  const found = scriptOf(words)
  return found ? [{ page, ...found }] : []
})
const namedTidings = named.flatMap(({ page, words }) => {
  const args = tidingsOf(words)
  return args ? [{ page, args }] : []
})

describe('the documentation', () => {
  test('names commands in blocks, after prompts and in the text', () => {
    const text = [
      'Run `npm run -s a -- x` or `tidings\nops b`.',
      '```sh\nX=1 npm start && npm run c > out # and so on\n```',
      '```\n$ tidings d \\\n  --e f | head\nnpm run output\n```',
    ].join('\n')
    expect(codeIn(text)).toEqual([
      'X=1 npm start && npm run c > out # and so on',
      '',
      '$ tidings d --e f | head',
      'npm run -s a -- x',
      'tidings ops b',
    ])
    expect(scriptOf(['npm', 'run', '-s', 'a', '--', 'x'])).toEqual({ script: 'a', args: ['x'] })
    expect(scriptOf(['npm', 'install'])).toBeUndefined()
    expect(tidingsOf(['npx', 'tidings', 'ops', 'dns'])).toEqual(['ops', 'dns'])
    expect(namedScripts.length).toBeGreaterThan(60)
    expect(namedTidings.length).toBeGreaterThan(60)
  })

  test('names no script that package.json does not have', () => {
    const unknown = namedScripts.filter(({ script }) => scripts[script] === undefined)
    expect(unknown.map(({ page, script }) => `${page}: npm run ${script}`)).toEqual([])
  })

  test('names no command of the service, and no option of one, that does not exist', () => {
    const faults = namedTidings.flatMap(({ page, args }) => {
      const usage = usageFor(args)?.text
      const line = `${page}: tidings ${args.join(' ')}`
      if (usage === undefined) return [`${line}: there is no such command`]
      const options = args.filter((arg) => /^--\w/.test(arg)).map((arg) => arg.replace(/=.*/, ''))
      return options
        .filter((option) => !['--help', '--version'].includes(option) && !usage.includes(option))
        .map((option) => `${line}: its usage does not have ${option}`)
    })
    expect(faults).toEqual([])
  })
})

/** The arguments that the documentation gives a script. Those that are the beginning of others are proven by them. */
const variantsOf = (script: string): string[][] => {
  const texts = namedScripts.filter((found) => found.script === script).map(({ args }) => JSON.stringify(args))
  const distinct = [...new Set(['[]', ...texts])]
  const isBeginning = (text: string) => distinct.some((other) => other !== text && other.startsWith(text.slice(0, -1)))
  return distinct.filter((text) => !isBeginning(text)).map((text) => JSON.parse(text))
}

const commands = Object.keys(scripts)
  .filter((script) => !runsOthers(script))
  .flatMap((script) => {
    const isOurs = shortFormOf(script).args.includes('--start-only')
    // Programs of others have a form of their own, which leaves out what the documentation does with them.
    return (isOurs ? variantsOf(script) : [[]]).map((args) => ({
      script,
      args: [...args, ...shortFormOf(script).args],
    }))
  })
  .map((command) => ({ ...command, title: ['npm run', command.script, '--', ...command.args].join(' ') }))

/** Far more than any of them needs, also on a busy machine. */
const longestStartMs = 240_000

/** Most of the time is that of processors, of which there are few. */
const atOnce = 3
let free = atOnce
const waiting: (() => void)[] = []
const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
  if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
  else free--
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else free++
  }
}

describe.concurrent('starts', () => {
  let folder: string
  let database: TestDatabase
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tidings-commands-'))
    database = await makeTestDatabase()
  })
  afterAll(async () => {
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })

  const environment = (script: string): NodeJS.ProcessEnv => ({
    PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH}`,
    HOME: process.env.HOME,
    TMPDIR: process.env.TMPDIR,
    CHROME_PATH: process.env.CHROME_PATH,
    NODE_COMPILE_CACHE: process.env.TEST_COMPILE_CACHE,
    NO_COLOR: '1',
    // A server on which commands create databases of their own; the service needs one of those.
    DATABASE_URL: script === 'start' ? database.url : inject('database').url,
    ...(script === 'start' && { DATA_DIR: join(folder, 'data'), PORT: '0' }),
  })

  // Some wait for their turn first.
  test.for(commands)('$title', { timeout: 2 * longestStartMs }, async ({ script, args, title }, { expect }) => {
    const { sign, endless } = shortFormOf(script)
    await inTurn(async () => {
      // As npm does, without the time that npm takes.
      const ran = run('sh', ['-c', `${scripts[script]} "$@"`, 'sh', ...args], { cwd: root, env: environment(script) })
      const ended = ran.ended()
      if (endless) {
        await expect
          .poll(() => ran.output() + ran.errors(), { timeout: longestStartMs, message: whatToDo })
          .toMatch(sign)
        ran.signalGroup('SIGTERM')
        await ended
        return
      }
      // A command that does not know the option does its whole work.
      const tooLong = setTimeout(() => ran.signalGroup('SIGKILL'), longestStartMs)
      const code = await ended
      clearTimeout(tooLong)
      const shown = `${title} exited with ${code}. ${whatToDo}\n${ran.output()}${ran.errors()}`
      expect([code, sign.test(ran.output())], shown).toEqual([0, true])
    })
  })
})
