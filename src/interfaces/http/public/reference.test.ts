import { runInNewContext } from 'node:vm'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { serveAlone } from '../../../../test/service/serve-alone.ts'
import { sharedTestService, type TestService, testService } from '../../../../test/service/service.ts'
import type { OpenApiDocument } from '../openapi.ts'
import { byKey, defineRoute } from '../route.ts'
import { referenceRoutes } from './reference.ts'
import { once } from './stored.ts'

let running: TestService
beforeAll(async () => {
  running = await sharedTestService()
})

const get = (path: string, headers: Record<string, string> = {}) => running.ask('GET', path, { headers })

const bytesOf = async (path: string, encoding: string): Promise<{ encoding: unknown; bytes: Buffer }> => {
  const { headers, body } = await request(`${running.url}${path}`, {
    headers: { 'accept-encoding': encoding },
  })
  return { encoding: headers['content-encoding'], bytes: Buffer.from(await body.arrayBuffer()) }
}

describe('GET /api/openapi.json', () => {
  test('X-362 needs no key, returns JSON and can be cached for five minutes', async () => {
    const { status, headers, body } = await get('/api/openapi.json')
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'public, max-age=300',
      etag: expect.stringMatching(/^"[\w-]+"$/),
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^req_/),
    })
    expect(body.openapi).toBe('3.1.0')
  })

  test('returns 304 without a body if the client has the current version', async () => {
    const { etag } = (await get('/api/openapi.json')).headers
    for (const etags of [String(etag), `"other", W/${etag}`, '*']) {
      const { status, text, headers } = await get('/api/openapi.json', { 'if-none-match': etags })
      expect([status, text, headers.etag]).toEqual([304, '', etag])
      expect(headers['cache-control']).toBe('public, max-age=300')
    }
    expect((await get('/api/openapi.json', { 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('HEAD returns the same headers without the body', async () => {
    const [got, head] = [await get('/api/openapi.json'), await running.ask('HEAD', '/api/openapi.json')]
    expect([head.status, head.text]).toEqual([200, ''])
    for (const name of ['etag', 'content-type', 'content-length', 'cache-control', 'vary']) {
      expect(head.headers[name], name).toBe(got.headers[name])
    }
  })

  test('is built once, however often it is requested', async () => {
    let read = 0
    const route = defineRoute('GET', '/counted', byKey('read:suppressions'), {
      tag: 'Counted',
      get summary() {
        read++
        return 'Counted'
      },
      responses: { 200: { schema: z.object({}), description: 'Done.' } },
      handle: async () => ({ status: 200, body: {} }),
    })
    const { ask } = await testService({ routes: () => [route] })
    expect(read).toBe(0)
    await Promise.all([ask('GET', '/api/openapi.json'), ask('GET', '/api/openapi.json')])
    await ask('GET', '/api/openapi.json')
    expect(read).toBe(1)
  })

  test('contains the public URL if it is set', async () => {
    const baseUrl = 'https://tidings.invalid'
    const app = serveAlone(referenceRoutes({ routes: [], serviceVersion: '1.2.3', baseUrl }))
    const { servers, info } = (await app.inject('/api/openapi.json')).json<OpenApiDocument>()
    expect([servers[0]?.url, info.version]).toEqual([baseUrl, '1.2.3'])
  })
})

describe('content encoding', () => {
  test('is the best that the client accepts, and each has its own ETag', async () => {
    const plain = await bytesOf('/api/openapi.json', 'identity')
    expect(plain.encoding).toBeUndefined()
    const [br, gzip] = [await bytesOf('/api/openapi.json', 'gzip, br'), await bytesOf('/api/openapi.json', 'gzip')]
    expect([br.encoding, gzip.encoding]).toEqual(['br', 'gzip'])
    expect(brotliDecompressSync(br.bytes)).toEqual(plain.bytes)
    expect(gunzipSync(gzip.bytes)).toEqual(plain.bytes)
    expect(br.bytes.length).toBeLessThan(plain.bytes.length / 4)

    const tags = ['identity', 'gzip', 'br'].map(
      async (name) => (await get('/api/openapi.json', { 'accept-encoding': name })).headers.etag,
    )
    expect(new Set(await Promise.all(tags)).size).toBe(3)
    expect((await get('/api/openapi.json')).headers.vary).toBe('accept-encoding')
  })

  test('is not one with q=0, and * selects the best', async () => {
    const used = async (accepted: string) => (await bytesOf('/docs', accepted)).encoding
    expect(await used('br;q=0, gzip;q=0.5')).toBe('gzip')
    expect(await used('br;q=0, *;q=0')).toBeUndefined()
    expect(await used('*')).toBe('br')
    expect(await used('deflate')).toBeUndefined()
  })
})

test('once retries on the next call after a failure', async () => {
  let tries = 0
  const read = once(async () => {
    tries++
    if (tries === 1) throw new Error('not yet')
    return tries
  })
  await expect(read()).rejects.toThrow('not yet')
  expect([await read(), await read()]).toEqual([2, 2])
})

describe('GET /docs', () => {
  test('returns a page that can contact only its own origin', async () => {
    const { status, headers, text } = await get('/docs')
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    })
    const policy = new Map(
      String(headers['content-security-policy'])
        .split('; ')
        .map((rule) => [rule.split(' ', 1)[0], rule.split(' ').slice(1)]),
    )
    expect(policy.get('default-src')).toEqual(["'self'"])
    expect(policy.get('script-src')).toEqual(["'self'"])
    expect([...policy.values()].flat().filter((source) => /[.*/]|^https?:|unsafe-eval/.test(source ?? ''))).toEqual([])
    expect(text).toContain('<title>Tidings</title>')
    const loaded = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url)
    expect(loaded.filter((url) => !url?.startsWith('data:'))).toEqual(['api/openapi.json', 'docs/reference.js'])
  })

  test('has a compressed script that loads the description from the origin of the page', async () => {
    const { bytes, encoding } = await bytesOf('/docs/reference.js', 'br')
    expect(encoding).toBe('br')
    expect(bytes.length).toBeLessThan(1_500_000)
    const text = brotliDecompressSync(bytes).toString()
    expect(text.length).toBeGreaterThan(1_000_000)

    type Opened = { url: string; customFetch(url: string): Promise<Response> } & Record<string, unknown>
    const opened: Opened[] = []
    runInNewContext(text.slice(text.lastIndexOf(';(() => {')), {
      Scalar: { createApiReference: (_place: string, options: Opened) => opened.push(options) },
      location: new URL(`${running.url}/docs`),
      URL,
      Response,
      fetch,
    })
    const options = opened[0] as Opened
    expect(options).toMatchObject({
      url: `${running.url}/api/openapi.json`,
      servers: [{ url: running.url }],
      telemetry: false,
      withDefaultFonts: false,
      persistAuth: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
    })
    expect(options).not.toHaveProperty('proxyUrl')

    const response = await options.customFetch(options.url)
    const { paths } = (await response.json()) as OpenApiDocument
    const parameters = paths['/api/v1/suppressions']?.get?.parameters
    expect(parameters).toContainEqual(
      expect.objectContaining({
        name: 'reason',
        examples: { default: { value: 'bounce', 'x-disabled': true } },
      }),
    )
  })

  test('supports HEAD and If-None-Match', async () => {
    const head = await running.ask('HEAD', '/docs')
    expect([head.status, head.text]).toEqual([200, ''])
    expect((await get('/docs', { 'if-none-match': String(head.headers.etag) })).status).toBe(304)
  })
})

test('other methods return 405 with Allow and other paths 404, with the usual error body', async () => {
  for (const path of ['/api/openapi.json', '/docs', '/docs/reference.js']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const { status, headers, body } = await running.ask(method, path)
      expect([status, headers.allow], `${method} ${path}`).toEqual([405, 'GET, HEAD'])
      expect(body.error).toMatchObject({ type: 'validation_error', code: 'METHOD_NOT_ALLOWED' })
    }
  }
  for (const path of ['/docs/none', '/docs/', '/api/openapi.yaml']) {
    const { status, body } = await get(path)
    expect([status, body.error.code], path).toEqual([404, 'NOT_FOUND'])
  }
})
