/** Runs the examples of docs/email.md exactly as they are shown. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { startTestService } from './service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const run = promisify(execFile)

const page = await readFile(new URL('../docs/email.md', import.meta.url), 'utf8')
const examples = [...page.matchAll(/```sh\n(curl [\s\S]*?)\n```/g)].map(([, command]) => command as string)
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
)

test.skipIf(!hasCurl)('Every example in docs/email.md succeeds and creates the expected messages', async () => {
  const { keys } = await t.org()
  const env = { ...process.env, BASE_URL: t.url, API_KEY: keys.live }
  expect(examples.length).toBeGreaterThan(5)
  for (const command of examples) {
    const { stdout } = await run('bash', ['-c', command], { env })
    expect([command, JSON.parse(stdout).error]).toEqual([command, undefined])
  }
  const rows = await t.database.sql<{ status: string }>('select status from messages order by id')
  expect(rows.map(({ status }) => status)).toEqual(['sent', 'sent', 'sent', 'sent', 'sent', 'sent', 'scheduled'])
})
