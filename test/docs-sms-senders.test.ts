/** Runs the examples of docs/sms-senders.md as they are shown, with the ids that the examples before returned. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { poll } from './clients/sender-client.ts'
import { startTestService } from './service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const run = promisify(execFile)

const page = await readFile(new URL('../docs/sms-senders.md', import.meta.url), 'utf8')
const examples = [...page.matchAll(/```sh\n(curl [\s\S]*?)\n```/g)].map(([, command]) => command as string)
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
)

test.skipIf(!hasCurl)(
  'A newcomer registers every kind of sender with the examples and sends from a number',
  async () => {
    const { keys } = await t.org()
    const env = { ...process.env, BASE_URL: t.url, API_KEY: keys.live }
    const known: Record<string, string> = {}
    const replies: { status: string }[] = []
    for (const example of examples) {
      const command = Object.entries(known).reduce((text, [shown, id]) => text.replace(shown, id), example)
      const reply = JSON.parse((await run('bash', ['-c', command], { env })).stdout)
      expect([example, reply.error]).toEqual([example, undefined])
      replies.push(reply)
      if (/^(brd|cmp)_/.test(reply.id)) known[`${reply.id.slice(0, 4)}…`] = reply.id
      if (reply.e164) known['+15125550199'] = reply.e164
      await poll(t)
    }
    expect(replies.map(({ status }) => status)).toEqual(['verified', 'pending', 'pending', 'pending', 'sent'])
  },
)
