/** A client that openapi-typescript and openapi-fetch generate from the API description, with their default settings. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../service/service.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const programOf = (name: string, bin: string): string =>
  join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), bin)

const program = `
import createClient from 'openapi-fetch'
import type { operations, paths } from './schema.ts'

const [baseUrl = '', key = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${key}\` } })

const email = { from: 'hello@example.test', to: ['ada@example.com'], subject: 'Hello', text: 'Hello, Ada' }
type Body = operations['sendEmail']['requestBody']['content']['application/json']
const typed: Body = { ...email, stream: 'broadcast', tags: ['news'] }

const sent = await client.POST('/api/v1/emails', {
  body: email,
  params: { header: { 'Idempotency-Key': 'first' } },
})
const batch = await client.POST('/api/v1/emails/batch', { body: [email, typed] })
const bulk = await client.POST('/api/v1/emails/batch', { body: { ...email, to: ['a@example.com', 'b@example.com'] } })
const read = await client.GET('/api/v1/emails/{id}', {
  params: { path: { id: sent.data?.id ?? '' }, query: { include: 'body' } },
})
const listed = await client.GET('/api/v1/emails', { params: { query: { limit: 2, status: 'sent' } } })
const domain = await client.POST('/api/v1/domains', { body: { name: 'mail.example.com' } })
const warmup = await client.POST('/api/v1/domains/{id}/warmup', { params: { path: { id: domain.data?.id ?? '' } } })
const missing = await client.GET('/api/v1/emails/{id}', {
  params: { path: { id: 'msg_01k5w3v8q6e9rbx2t7m4n0c1yz' } },
})

export const notCompiled = () => {
  // @ts-expect-error The recipients are required.
  client.POST('/api/v1/emails', { body: { from: 'hello@example.test' } })
  // @ts-expect-error The subject is a text.
  client.POST('/api/v1/emails', { body: { ...email, subject: 7 } })
  // @ts-expect-error The items of a batch are emails.
  client.POST('/api/v1/emails/batch', { body: ['Hello'] })
  // @ts-expect-error The status does not exist.
  client.GET('/api/v1/emails', { params: { query: { status: 'lost' } } })
  // @ts-expect-error The path does not exist.
  client.GET('/api/v1/nowhere')
}

const codeOf = ({ error }: { error?: { error: { code: string } } }): string | undefined => error?.error.code
console.log(
  JSON.stringify({
    sent: sent.data?.status,
    batch: batch.data?.data.map(({ status }) => status),
    bulk: bulk.data?.succeeded,
    text: read.data?.text,
    listed: listed.data?.data.length,
    more: listed.data?.has_more,
    days: warmup.data?.warmup?.days,
    missing: codeOf(missing),
  }),
)
`

const tsconfig = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'dom'],
    types: ['node'],
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  },
  include: ['*.ts'],
}

let t: TestService
let folder: string
beforeAll(async () => {
  t = await startTestService()
  folder = await mkdtemp(join(tmpdir(), 'generated-client-'))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  await writeFile(join(folder, 'openapi.json'), (await t.ask('GET', '/api/openapi.json')).text)
  await writeFile(join(folder, 'send.ts'), program)
  const generator = programOf('openapi-typescript', 'bin/cli.js')
  const hook = join(import.meta.dirname, 'typescript-5.ts')
  await run(process.execPath, ['--import', hook, generator, 'openapi.json', '-o', 'schema.ts'], { cwd: folder })
})
afterAll(async () => {
  await t.stop()
  await rm(folder, { recursive: true })
})

describe('The client that openapi-typescript and openapi-fetch generate', () => {
  test('compiles, and does not compile with wrong requests', async () => {
    const compiler = programOf('typescript', 'bin/tsc')
    const { stdout } = await run(process.execPath, [compiler, '-p', folder]).catch(
      (failure: { stdout: string }) => failure,
    )
    expect(stdout).toBe('')
  })

  test('sends and reads emails, and shows the code of an error', async () => {
    const { keys } = await t.org()
    const { stdout } = await run(process.execPath, ['send.ts', t.url, keys.live], { cwd: folder })
    expect(JSON.parse(stdout)).toEqual({
      sent: 'sent',
      batch: ['sent', 'sent'],
      bulk: 2,
      text: 'Hello, Ada',
      listed: 2,
      more: true,
      days: 14,
      missing: 'NOT_FOUND',
    })
    const outbox = (await t.ask('GET', '/api/dev/outbox?channel=email&limit=200')).body.data
    expect(outbox).toHaveLength(5)
  })
})
