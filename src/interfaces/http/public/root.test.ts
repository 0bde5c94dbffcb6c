import { beforeAll, expect, test } from 'vitest'
import { expectRefusal } from '../../../../test/expect/refusal.ts'
import { sharedTestService, type TestService } from '../../../../test/service/service.ts'
import { readServiceVersion } from '../../../platform/ground/version.ts'

let t: TestService
beforeAll(async () => {
  t = await sharedTestService()
})

test('GET / names the service, its version and its documents, and every link works', async () => {
  const reply = await t.ask('GET', '/', { headers: { accept: '*/*' } })
  const links = { documentation: '/docs', openapi: '/api/openapi.json', health: '/healthz', readiness: '/readyz' }
  expect([reply.status, reply.headers['content-type'], reply.body]).toEqual([
    200,
    'application/json; charset=utf-8',
    { name: 'Tidings', version: readServiceVersion(), links },
  ])
  for (const link of Object.values(links)) expect((await t.ask('GET', link)).status, link).toBe(200)
})

test('GET / is a page for a browser, and its links work', async () => {
  const reply = await t.ask('GET', '/', { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
  expect([reply.status, reply.headers['content-type'], reply.headers.vary]).toEqual([
    200,
    'text/html; charset=utf-8',
    'accept',
  ])
  expect(reply.headers['content-security-policy']).toContain("default-src 'none'")
  expect(reply.text).toContain(`Tidings ${readServiceVersion()}`)
  const links = [...reply.text.matchAll(/href="([^"]+)"/g)].map(([, link]) => link as string)
  expect(links).toHaveLength(4)
  for (const link of links) expect((await t.ask('GET', `/${link}`)).status, link).toBe(200)
})

test('Other methods on / are 405', async () => {
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const reply = await t.ask(method, '/')
    expectRefusal(reply, 'METHOD_NOT_ALLOWED')
    expect(reply.headers.allow).toBe('GET, HEAD')
  }
})

test('One slash at the end of a path under /api/v1 is ignored, and nothing else about the path is', async () => {
  const { keys } = await t.org()
  const ask = async (method: string, path: string, body?: object) => {
    const reply = await t.ask(method, path, { key: keys.live, ...(body && { body }) })
    return [reply.status, reply.body]
  }
  const value = 'slash@example.com'
  const [status, made] = await ask('POST', '/api/v1/suppressions/', { channel: 'email', value })
  expect([status, made.value]).toEqual([201, value])
  const listed = await ask('GET', '/api/v1/suppressions?limit=1')
  for (const path of ['/api/v1/suppressions/?limit=1', '/v1/suppressions/?limit=1', '/v1/suppressions/?limit=1#x']) {
    expect(await ask('GET', path), path).toEqual(listed)
  }
  expect((await ask('GET', `/api/v1/suppressions/${made.id}/`))[1]).toEqual(made)
  expect((await ask('PUT', '/api/v1/suppressions/'))[0]).toBe(405)
  for (const path of ['/api/v1/suppressions//', '/api/v1//suppressions', '/api/v1/suppressions%2F', '/api/v1/']) {
    expect((await ask('GET', path))[0], path).toBe(404)
  }
  expect((await t.ask('GET', '/api/v1/suppressions/')).status).toBe(401)
})
