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
type Example = { command: string; shown: string | undefined }
const examples: Example[] = [...page.matchAll(/```sh\n(curl [\s\S]*?)\n```(?:\n\n```json\n([\s\S]*?)\n```)?/g)].map(
  ([, command, shown]) => ({ command: command as string, shown }),
)
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
)

/** Without the ids and times, which differ from run to run. */
const constantParts = (json: string): unknown =>
  JSON.parse(json, (_, value) =>
    typeof value === 'string' ? value.replace(/^msg_[0-9a-z]{26}$/, 'msg_…').replace(/^\d{4}-.*Z$/, 'a time') : value,
  )

test.skipIf(!hasCurl)('Every example in docs/email.md succeeds and creates the expected messages', async () => {
  const { keys } = await t.org()
  const env = { ...process.env, BASE_URL: t.url, API_KEY: keys.live }
  expect(examples.length).toBeGreaterThan(5)
  expect(examples.filter(({ shown }) => shown !== undefined).length).toBeGreaterThan(1)
  for (const { command, shown } of examples) {
    const { stdout } = await run('bash', ['-c', command], { env })
    expect([command, JSON.parse(stdout).error]).toEqual([command, undefined])
    if (shown !== undefined) expect(constantParts(stdout), command).toEqual(constantParts(shown))
  }
  const rows = await t.database.sql<{ status: string }>('select status from messages order by id')
  expect(rows.map(({ status }) => status)).toEqual(['sent', 'sent', 'sent', 'sent', 'sent', 'sent', 'scheduled'])
})
