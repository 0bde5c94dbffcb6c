/** Runs the examples of docs/migrating.md for the Resend client as they are shown, except for the host. */
import { readFileSync } from 'node:fs'
import { Resend } from 'resend'
import { afterAll, expect, test } from 'vitest'
import { startTestService } from '../service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const page = readFileSync(new URL('../../docs/migrating.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code]) => code as string)

/** Returns what the examples print. They share their variables, like consecutive lines of one program. */
const runExamples = async (key: string, baseUrl: string): Promise<unknown[]> => {
  const printed: unknown[] = []
  const code = blocks.join('\n').replace('https://mail.example.com/v1', baseUrl)
  const AsyncFunction = (async () => undefined).constructor as FunctionConstructor
  const program = new AsyncFunction('Resend', 'process', 'console', code)
  await program(Resend, { env: { TIDINGS_KEY: key } }, { log: (value: unknown) => printed.push(value) })
  return printed
}

test('The examples list every email once, over several pages', async () => {
  const { keys } = await t.org()
  const resend = new Resend(keys.live, { baseUrl: `${t.url}/v1` })
  for (let call = 0; call < 2; call++) {
    const emails = Array.from({ length: 60 }, (_, n) => ({
      from: 'shop@example.test',
      to: [`page${call}-${n}@example.com`],
      subject: 'Hi',
      text: 'Hello.',
    }))
    expect((await resend.batch.send(emails)).error).toBeNull()
  }
  const rows = await t.database.sql<{ id: string }>('select id from messages order by created_at desc, id desc')
  expect(rows).toHaveLength(120)
  expect(blocks).toHaveLength(2)
  expect(await runExamples(keys.live, `${t.url}/v1`)).toEqual(rows.map(({ id }) => id))
})

test('The examples throw the message of the service, or that of the client if there is no response', async () => {
  await expect(runExamples('svc_live_wrong', `${t.url}/v1`)).rejects.toThrow('The API key is missing or invalid.')
  await expect(runExamples('svc_live_wrong', 'http://127.0.0.1:1/v1')).rejects.toThrow(/unable|fetch|resolve/i)
})

test('RESEND_BASE_URL and RESEND_API_KEY configure the client too', async () => {
  const { keys } = await t.org()
  const before = { url: process.env.RESEND_BASE_URL, key: process.env.RESEND_API_KEY }
  Object.assign(process.env, { RESEND_BASE_URL: `${t.url}/v1`, RESEND_API_KEY: keys.live })
  try {
    const { data, error } = await new Resend().emails.list()
    expect([error, data?.data]).toEqual([null, []])
  } finally {
    for (const [name, value] of [
      ['RESEND_BASE_URL', before.url],
      ['RESEND_API_KEY', before.key],
    ] as const) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
})
