/** Runs the quickstart of docs/verifications.md exactly as it is shown. */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { startTestService } from './service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const { keys } = await t.org()

const page = await readFile(new URL('../docs/verifications.md', import.meta.url), 'utf8')

test('S-058 docs/verifications.md and the reference say to use a new Idempotency-Key for every code', () => {
  expect(page).toContain('Use a new `Idempotency-Key` for every code that a person asks for.')
  const route = t.service.routes.find(({ operationId }) => operationId === 'startVerification')
  expect(route?.description).toContain('Use a new `Idempotency-Key` for every code')
})

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

test('The quickstart signs a person in with the code that was sent, once, and denies a wrong one', async () => {
  const [, program] = /```js\n([\s\S]*?)\n```/.exec(page) as RegExpExecArray
  expect((program as string).split('\n').length).toBeLessThan(30)
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'tidings-quickstart-'))
  const file = join(folder, 'sign-in.mjs')
  await writeFile(file, (program as string).replace('.listen(4000,', `.listen(${port},`))
  const app = spawn(process.execPath, [file], { env: { BASE_URL: t.url, API_KEY: keys.live }, stdio: 'inherit' })
  onTestFinished(async () => {
    app.kill()
    await rm(folder, { recursive: true, force: true })
  })
  const ask = async (path: string, body: object) => {
    const reply = await request(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: JSON.stringify(body) })
    return (await reply.body.json()) as Record<string, string>
  }
  await expect.poll(() => ask('/', {}).catch(() => undefined)).toEqual({ error: 'NOT_FOUND' })

  const phone = '+447700900123'
  expect(await ask('/sign-in', { phone })).toEqual({ sent: true })
  expect(await ask('/sign-in', { phone })).toEqual({ sent: true })
  const { body } = await t.ask('GET', `/api/dev/outbox?channel=sms&to=${encodeURIComponent(phone)}`)
  expect(body.data).toHaveLength(2)
  const code = /\d{6}/.exec(body.data[0].body)?.[0] as string
  const wrong = code === '000000' ? '000001' : '000000'
  expect(await ask('/sign-in/code', { phone: '+447700900199', code })).toEqual({ denied: 'not_found' })
  expect(await ask('/sign-in/code', { phone, code: wrong })).toEqual({ denied: 'invalid' })
  expect(await ask('/sign-in/code', { phone, code })).toEqual({ user: phone })
  expect(await ask('/sign-in/code', { phone, code })).toEqual({ denied: 'not_found' })
  expect(await ask('/sign-in', { phone: '+19005550100' })).toEqual({ error: 'UNDELIVERABLE_DESTINATION' })
})
