/** Runs the examples of docs/sms.md exactly as they are shown. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { startTestService } from './service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const run = promisify(execFile)

const page = await readFile(new URL('../docs/sms.md', import.meta.url), 'utf8')
const examples = [...page.matchAll(/```sh\n(curl [\s\S]*?)\n```/g)].map(([, command]) => command as string)
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
)

test.skipIf(!hasCurl)('Every example in docs/sms.md succeeds and creates the expected messages', async () => {
  const { keys } = await t.org()
  const env = { ...process.env, BASE_URL: t.url, API_KEY: keys.live, TEST_API_KEY: keys.test }
  const answers: { data?: unknown[] }[] = []
  for (const command of examples) {
    const { stdout } = await run('bash', ['-c', command], { env })
    expect([command, JSON.parse(stdout).error]).toEqual([command, undefined])
    answers.push(JSON.parse(stdout))
  }
  expect(answers).toHaveLength(7)
  // The outbox and the list show what the other examples sent.
  expect(answers[1]?.data).toHaveLength(1)
  expect(answers.at(-1)?.data).toHaveLength(3)
  const rows = await t.database.sql<{ status: string; environment: string }>(
    'select status, environment from messages order by id',
  )
  expect(rows.map(({ status, environment }) => `${environment} ${status}`)).toEqual([
    'live sent',
    'test sent',
    'live sent',
    'live sent',
    'live sent',
    'live scheduled',
  ])
})
