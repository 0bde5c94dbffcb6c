/**
 * Runs the commands of every page of the documentation, from top to bottom, against a service. A page takes ids from the
 * responses before, as it tells its reader to. Where it shows a response below a command, the response must be like it.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { notRun } from './docs/not-run.ts'
import { type Block, blocksIn, ownValues, readPages } from './docs/page-blocks.ts'
import { type Answer, runPage } from './docs/run-page.ts'
import { differences } from './docs/shown-answer.ts'
import { startTestService } from './service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const hasCurl = await promisify(execFile)('curl', ['--version']).then(
  () => true,
  () => false,
)

const pages = (await readPages()).filter(({ blocks }) => blocks.length > 0)

const startsOf = (path: string): string[] => Object.keys(notRun[path] ?? {})
const isRun = (path: string, { commands }: Block): boolean =>
  !startsOf(path).some((start) => commands.startsWith(start))

const isError = (shown: string | undefined): boolean => shown !== undefined && /^\{\s*"error"/.test(shown)

const requestsIn = (commands: string): number => [...commands.matchAll(/(?:^|\()curl /gm)].length

/** What is wrong with the answers to the requests of a block. A request is refused only where the page shows the error. */
const faultsOf = ({ line, commands, shown }: Block, answers: Answer[]): string[] => {
  const expected = requestsIn(commands)
  if (answers.length !== expected) return [`line ${line}: ${answers.length} of ${expected} requests were made`]
  const refused = answers.flatMap(({ status, body }, i) =>
    status >= 400 === (isError(shown) && i === expected - 1)
      ? []
      : [`line ${line}: request ${i + 1} got ${status} ${body}`],
  )
  const last = answers.at(-1)
  const unlike = shown === undefined || !last ? [] : differences(JSON.parse(shown), JSON.parse(last.body))
  return [...refused, ...unlike.map((difference) => `line ${line}: ${difference}`)]
}

const faultsIn = async (blocks: Block[]): Promise<string[]> => {
  const { org, keys } = await t.org()
  const own = { BASE_URL: t.url, API_KEY: keys.live, TEST_API_KEY: keys.test, ORG_ID: org.id }
  const { answers, fault } = await runPage(blocks, { ...own, DATABASE_URL: t.database.url })
  const faults = answers.flatMap((given, i) => faultsOf(blocks[i] as Block, given))
  return fault === undefined ? faults : [...faults, fault]
}

test.skipIf(!hasCurl).each(pages.map((page) => [page.path, page] as const))(
  'The commands of %s work from top to bottom',
  async (path, { blocks }) => {
    expect(await faultsIn(blocks.filter((block) => isRun(path, block)))).toEqual([])
  },
)

test.each(pages.map((page) => [page.path, page] as const))(
  '%s sets BASE_URL and its other values before it uses them, and names no address of its own',
  (path, { text, blocks }) => {
    const run = blocks.filter((block) => isRun(path, block))
    const first = (name: string) => run.find(({ commands }) => commands.includes(`$${name}`))?.line
    const unset = ownValues.filter((name) => {
      const used = first(name)
      return used !== undefined && !new RegExp(`^${name}=`, 'm').test(text.split('\n').slice(0, used).join('\n'))
    })
    expect(unset).toEqual([])
    expect(run.filter(({ commands }) => /(?:127\.0\.0\.1|localhost):3000/.test(commands))).toEqual([])
  },
)

test('No command is in a block that is not run, except for transcripts marked as text', async () => {
  const ran = /^```(?:sh|text)\n[\s\S]*?^```$/gm
  const hidden = (await readPages()).flatMap(({ path, text }) =>
    [...text.replace(ran, '').matchAll(/^\s*(?:\w+=\$\()?(?:curl|tidings ops) .*/gm)].map(
      ([line]) => `${path}: ${line}`,
    ),
  )
  expect(hidden).toEqual([])
})

test('Every entry in the list of commands that are not run names a block of its page', () => {
  const unused = Object.keys(notRun).flatMap((path) => {
    const blocks = pages.find((page) => page.path === path)?.blocks ?? []
    return startsOf(path)
      .filter((start) => !blocks.some(({ commands }) => commands.startsWith(start)))
      .map((start) => `${path}: ${start}`)
  })
  expect(unused).toEqual([])
})

describe.skipIf(!hasCurl)('A page fails', () => {
  const auth = '-H "Authorization: Bearer $API_KEY"'
  const fenced = (commands: string, shown?: string) =>
    blocksIn(`\`\`\`sh\n${commands}\n\`\`\`\n${shown === undefined ? '' : `\n\`\`\`json\n${shown}\n\`\`\`\n`}`)

  test.each([
    ['a request is refused', `curl "$BASE_URL/api/v1/emails/x" ${auth}`, undefined, /request 1 got 404/],
    [
      'an id is not found',
      `ID=$(curl -s "$BASE_URL/api/v1/emails" ${auth} | grep -o 'msg_[0-9a-z]*')`,
      undefined,
      /^line 1: a command failed/,
    ],
    ['the service is not reached', 'curl http://127.0.0.1:1/', undefined, /Failed to connect/],
    ['it uses a program that few readers have', 'jq .', undefined, /jq: not found/],
    ['it would change the machine', 'rm -rf work', undefined, /rm: not found/],
    [
      'a response is not as shown',
      `curl "$BASE_URL/api/v1/emails" ${auth}`,
      '{ "data": [], "has_more": true }',
      /has_more: shown true, is false|next_cursor: is not shown/,
    ],
    [
      'an error is shown and the request succeeds',
      `curl "$BASE_URL/api/v1/emails" ${auth}`,
      '{ "error": {} }',
      /got 200/,
    ],
  ])('if %s', async (_, commands, shown, expected) => {
    const faults = await faultsIn(fenced(commands, shown))
    expect(faults.length).toBeGreaterThan(0)
    expect(faults.join('\n')).toMatch(expected)
  })
})
