import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectRefusal } from '../../../../test/expect/refusal.ts'
import { startTestService, type TestService } from '../../../../test/service/service.ts'

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const page = '<!doctype html><title>Tidings</title>'
const script = 'console.log(1)'
const mailFrame = `<!doctype html><body><script>${script}</script>`

let t: TestService
let webFolder: string
beforeAll(async () => {
  webFolder = await mkdtemp(join(tmpdir(), 'web-files-'))
  await mkdir(join(webFolder, 'assets'))
  await mkdir(join(webFolder, '.vite'))
  await writeFile(join(webFolder, 'index.html'), page)
  await writeFile(join(webFolder, 'theme.js'), script)
  await writeFile(join(webFolder, 'mail-frame.html'), mailFrame)
  await writeFile(join(webFolder, 'assets', 'main-abc.js'), script)
  await writeFile(join(webFolder, 'assets', 'main-abc.js.br'), brotliCompressSync(script))
  await writeFile(join(webFolder, '.vite', 'manifest.json'), '{}')
  t = await startTestService({ webFolder })
})
afterAll(async () => {
  await t.stop()
  await rm(webFolder, { recursive: true })
})

test('A browser gets the page of the dashboard at every path that belongs to no other part', async () => {
  for (const path of ['/', '/login', '/messages/msg_1?tab=raw', '/no/such/page']) {
    const reply = await t.ask('GET', path, { headers: browser })
    expect([reply.status, reply.text], path).toEqual([200, page])
    expect(reply.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      vary: 'accept, accept-encoding',
    })
    const policy = String(reply.headers['content-security-policy']).split('; ')
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]),
    )
    expect(String(policy)).not.toContain('unsafe')
  }
})

test('The frame for mails has no origin, loads nothing of the service, and pictures of others only when they are asked for', async () => {
  const hash = createHash('sha256').update(script).digest('base64')
  for (const [query, pictures] of [
    ['', 'data:'],
    ['?pictures=remote', 'data: http: https:'],
    ['?pictures=remote&x', 'data:'],
  ]) {
    const reply = await t.ask('GET', `/mail-frame.html${query}`, { headers: browser })
    expect([reply.status, reply.text], query).toEqual([200, mailFrame])
    expect(reply.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
      'referrer-policy': 'no-referrer',
      'content-security-policy': `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src ${pictures}; base-uri 'none'; form-action 'none'; sandbox allow-scripts`,
    })
  }
})

test('Unknown paths of other parts, other methods and programs get the error of an unknown path', async () => {
  for (const path of ['/api/x', '/api/dev/x', '/docs/x', '/assets/gone.js', '/t/x']) {
    expectRefusal(await t.ask('GET', path, { headers: browser }), 'NOT_FOUND')
  }
  expectRefusal(await t.ask('GET', '/api/v1/x', { headers: browser }), 'UNAUTHORIZED')
  expectRefusal(await t.ask('GET', '/login'), 'NOT_FOUND')
  expectRefusal(await t.ask('POST', '/login', { headers: browser }), 'NOT_FOUND')
  expect((await t.ask('GET', '/')).body.name).toBe('Tidings')
})

test('Files with a hash in their name are cached for ever, others are asked for again', async () => {
  const hashed = await t.ask('GET', '/assets/main-abc.js')
  expect([hashed.status, hashed.text]).toEqual([200, script])
  expect(hashed.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    vary: 'accept-encoding',
  })
  expect((await t.ask('GET', '/theme.js')).headers['cache-control']).toBe('no-cache')
})

test('A client that accepts brotli gets the compressed file, and one that refuses it does not', async () => {
  const ask = async (encoding: string) => {
    const { headers } = await t.ask('GET', '/assets/main-abc.js', { headers: { 'accept-encoding': encoding } })
    return headers['content-encoding']
  }
  expect(await ask('gzip, br')).toBe('br')
  expect(await ask('br;q=0, gzip')).toBeUndefined()
  expect(await ask('identity')).toBeUndefined()
})

test('A file that a newer build has taken away is an unknown path, and is not cached as one', async () => {
  const path = '/assets/taken.js'
  const at = join(webFolder, path)
  await writeFile(at, script)
  const own = await startTestService({ webFolder, database: t.database })
  await rm(at)
  const gone = await own.ask('GET', path)
  expectRefusal(gone, 'NOT_FOUND')
  expect(gone.headers['cache-control']).toBeUndefined()
  await writeFile(at, script)
  expect((await own.ask('GET', path)).text).toBe(script)
  await own.stop()
})

test('Files outside the build and its own records are not served', async () => {
  for (const path of [
    '/.vite/manifest.json',
    '/assets/../../package.json',
    '/%2e%2e/package.json',
    '/main-abc.js.br',
  ]) {
    expect((await t.ask('GET', path)).status, path).toBe(404)
  }
})
