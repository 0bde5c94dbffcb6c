import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { mintKey } from '../../src/customers/keys/key-secret.ts'
import { gatedProbe, scopeProbes } from '../service/probes.ts'
import { startTestService } from '../service/service.ts'
import { mangle, type RequestOptions, requestsTo } from './requests.ts'
import { checkResponse, isNotHttp } from './responses.ts'
import { runs, timeoutFor } from './runs.ts'
import { readSurface } from './surface.ts'
import { type Answer, exchange, type Field, write } from './wire.ts'

const t = await startTestService({
  env: { RATE_LIMITER: 'off' },
  routes: () => [...scopeProbes(), gatedProbe(() => undefined)],
})
afterAll(() => t.stop())

const acme = await t.org()
const { entries, resolve } = await readSurface(t)
const ours = entries.filter(({ path }) => /^(?:\/api)?\/v1(?:\/|$)/.test(path))

const expired = await t.key(acme.org.id, { expiresAt: new Date(0) })
const revoked = await t.key(acme.org.id)
await t.database.sql('update api_keys set revoked_at = created_at where last_four = $1 and prefix = $2', [
  revoked.slice(-4),
  revoked.slice(0, 13),
])

const invalidCredentials: fc.Arbitrary<readonly Field[]> = fc.constantFrom<(readonly Field[])[]>(
  [],
  ...[expired, revoked, mintKey('live').key, `${acme.keys.live}x`, acme.keys.live.toLowerCase(), '\xff'].map(
    (key): Field[] => [['Authorization', `Bearer ${key}`]],
  ),
  [['Authorization', acme.keys.live]],
  [['Authorization', `Basic ${acme.keys.live}`]],
  [['X-Api-Key', acme.keys.live]],
  [['Cookie', `authorization=Bearer ${acme.keys.live}`]],
)

/** The parts of a response that do not depend on the request or the time. */
const fixedParts = ({ status, headers, body }: Answer) => {
  const { date: _date, 'x-request-id': id, connection: _connection, 'keep-alive': _alive, ...rest } = headers
  return { status, headers: rest, body: body.toString('utf8').replaceAll(String(id), '') }
}

const ask = async (bytes: Buffer, toHead = false): Promise<Answer> => {
  const { answers, end } = await exchange(t.url, bytes, { toHead })
  expect([answers.length, end]).toEqual([1, 'answered'])
  checkResponse(answers[0] as Answer, { toHead })
  return answers[0] as Answer
}

const plain = (method: string, target: string, headers: readonly Field[] = []): Buffer =>
  write({ method, target, headers, body: undefined })

test('X-002 S-002 Without a valid key every path and method under /api/v1 returns the same bytes', {
  timeout: timeoutFor(60_000),
}, async () => {
  const first = fixedParts(await ask(plain('GET', '/api/v1/suppressions')))
  expect(first.status).toBe(401)
  const requests = ours.map((entry) => {
    const options: RequestOptions = {
      resolve,
      ids: () => [],
      headers: invalidCredentials,
      parts: ['path', 'query', 'headers', 'body', 'method'],
    }
    return requestsTo(entry, options)
  })
  await fc.assert(
    fc.asyncProperty(fc.oneof(...requests), async (request) => {
      const toHead = request.method === 'HEAD'
      const answer = await ask(write(request), toHead)
      // Invalid HTTP is refused before anything in it is interpreted.
      if (isNotHttp(answer) || (toHead && answer.status === 422)) return
      expect(fixedParts(answer)).toEqual(toHead ? { ...first, body: '' } : first)
    }),
    runs(400),
  )
})

test('Without a valid key, existing and unknown paths give the same response, however they are written', {
  timeout: timeoutFor(60_000),
}, async () => {
  const known = ours.map(({ path }) => path).filter((path) => /\/v1\/(?!nowhere)/.test(path))
  const unknownLike = (path: string): string =>
    path.replace(/[^/]+$/, (last) => (last.startsWith('{') ? last : last.replace(/[a-z]/g, 'q')))
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...known),
      mangle,
      fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'),
      invalidCredentials,
      async (path, mangled, method, headers) => {
        const at = (chosen: string) => plain(method, mangled(chosen.replace(/\{\w+\}/g, 'x')), headers)
        const [served, other] = [await ask(at(path)), await ask(at(unknownLike(path)))]
        expect(fixedParts(served)).toEqual(fixedParts(other))
      },
    ),
    runs(300),
  )
})

test('Without a valid key, a body that is invalid, too large or never sent does not change the response', async () => {
  const first = fixedParts(await ask(plain('GET', '/api/v1/suppressions')))
  const large = Buffer.alloc(7 * 1_048_576, 0x20)
  for (const target of ['/api/v1/suppressions', '/api/v1/nowhere', '/v1/probe/gated', '/api/%761/nowhere']) {
    for (const type of ['application/json', 'text/plain', 'nonsense', '', 'multipart/form-data; boundary=x']) {
      const headers: Field[] = [['Content-Type', type]]
      const unsent = Buffer.from(
        `POST ${target} HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: 9999999\r\n\r\n`,
      )
      for (const bytes of [
        write({ method: 'POST', target, headers, body: Buffer.from('{') }),
        write({ method: 'PUT', target, headers, body: large }),
        write({ method: 'POST', target, headers, body: large, framing: 'chunked' }),
        unsent,
      ]) {
        expect(fixedParts(await ask(bytes)), `${target} ${type}`).toEqual(first)
      }
    }
  }
})

test('Without a valid key, forged addresses lead only to 401 or 429', async () => {
  const limited = await startTestService({ database: t.database })
  try {
    const statuses = new Map<number, number>()
    const bodies = new Set<string>()
    for (let i = 0; i < 240; i++) {
      const headers: Field[] = [['X-Forwarded-For', ['unknown', '203.0.113.9', '\xff, ,', '::1%lo'][i % 4] as string]]
      const { answers } = await exchange(limited.url, plain('GET', `/api/v1/x${i}`, headers))
      const answer = answers[0] as Answer
      checkResponse(answer)
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      bodies.add(fixedParts(answer).body)
    }
    // All 60 from the one valid address, and 100 of the 180 without a valid address.
    expect(Object.fromEntries(statuses)).toEqual({ 401: 160, 429: 80 })
    expect(bodies.size).toBe(2)
  } finally {
    await limited.stop()
  }
})
