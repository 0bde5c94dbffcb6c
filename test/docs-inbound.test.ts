/** Runs the examples of docs/inbound.md exactly as they are shown. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { domainClient } from './clients/domain-client.ts'
import { texter } from './clients/texter.ts'
import { startTestService } from './service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const run = promisify(execFile)

const page = await readFile(new URL('../docs/inbound.md', import.meta.url), 'utf8')
const examples = [...page.matchAll(/```sh\n(curl [\s\S]*?)\n```/g)].map(([, command]) => command as string)
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
)

test.skipIf(!hasCurl)('Every example in docs/inbound.md succeeds', async () => {
  const own = await texter(t)
  await own.number('+14155550999')
  const domains = domainClient(t, own)
  const verified = await domains.verify(await domains.added('mail.example.test', own.live, { inbound: true }))
  expect(verified.body.status).toBe('verified')
  const env = { ...process.env, BASE_URL: t.url, API_KEY: own.live }
  const answers: Record<string, unknown>[] = []
  for (const command of examples) answers.push(JSON.parse((await run('bash', ['-c', command], { env })).stdout))
  expect(answers).toMatchObject([
    { status: 'stored', kind: 'opt_out', keyword: 'STOP' },
    { status: 'stored', id: expect.stringMatching(/^iem_/) },
    { data: [{ channel: 'sms', from: '+14155550100', body: 'stop texting me' }] },
  ])
})
