import { afterAll, expect, test } from 'vitest'
import { decide, getTokens, newPkce, openRequest, redeem, registerClient } from '../../../test/clients/oauth-client.ts'
import { person } from '../../../test/clients/team-client.ts'
import { beginOtherTransaction } from '../../../test/service/other-transaction.ts'
import { startTestService, testService } from '../../../test/service/service.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())

const register = (body: unknown) => t.ask('POST', '/api/oauth/register', { body })
const clients = async () =>
  (await t.database.sql<{ n: number }>('select count(*)::int as n from oauth_clients'))[0]?.n as number
const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })

test('AD-146 anyone registers a public client', async () => {
  const reply = await register({
    client_name: 'Desktop assistant',
    redirect_uris: ['http://127.0.0.1/callback'],
    token_endpoint_auth_method: 'client_secret_post',
    logo_uri: 'https://example.com/logo.png',
  })
  expect([reply.status, reply.headers['cache-control'], reply.body]).toEqual([
    201,
    'no-store',
    {
      client_id: expect.stringMatching(/^oac_[0-9a-hjkmnp-tv-z]{26}$/),
      client_name: 'Desktop assistant',
      redirect_uris: ['http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
  ])
})

test('AD-147 a redirect address is https, or http on a loopback address', async () => {
  const before = await clients()
  const wrong = [
    'http://example.com/cb',
    'http://127.0.0.2/cb',
    'http://localhost.evil.example/cb',
    'http://127.0.0.1@evil.example/',
    'https://user@example.com/cb',
    'https://example.com/cb#fragment',
    'https://',
    'myapp://callback',
    'javascript:alert(1)',
    'data:text/html,x',
    '/callback',
    'https://example.com/ cb',
    'https://example.com\\@evil.example/',
    `https://example.com/${'a'.repeat(2_000)}`,
    '',
  ]
  for (const uri of wrong) {
    const reply = await register({ redirect_uris: [uri] })
    expect([reply.status, reply.body.error], uri).toEqual([400, 'invalid_redirect_uri'])
  }
  expect(await clients()).toBe(before)
  const right = ['https://example.com/cb?x=1', 'http://localhost:3000/cb', 'http://[::1]/cb', 'http://127.0.0.1:8/']
  expect((await register({ redirect_uris: right })).body.redirect_uris).toEqual(right)
})

test('AD-146 invalid metadata is refused in the form of the standard', async () => {
  const redirect_uris = ['https://example.com/cb']
  const wrong: [unknown, string][] = [
    [{}, 'invalid_redirect_uri'],
    [{ redirect_uris: [] }, 'invalid_redirect_uri'],
    [{ redirect_uris: Array(11).fill('https://example.com/cb') }, 'invalid_redirect_uri'],
    [{ redirect_uris: 'https://example.com/cb' }, 'invalid_redirect_uri'],
    [{ redirect_uris, client_name: 'x'.repeat(101) }, 'invalid_client_metadata'],
    [{ redirect_uris, client_name: 'Safe\u202etxt' }, 'invalid_client_metadata'],
    [{ redirect_uris, client_name: 'two\nlines' }, 'invalid_client_metadata'],
    [{ redirect_uris, client_name: 1 }, 'invalid_client_metadata'],
    [{ redirect_uris, grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
    [{ redirect_uris, response_types: ['token'] }, 'invalid_client_metadata'],
    [[], 'invalid_client_metadata'],
    [null, 'invalid_client_metadata'],
    ['text', 'invalid_client_metadata'],
  ]
  for (const [body, error] of wrong) {
    const reply = await register(body)
    expect([reply.status, reply.body.error], JSON.stringify(body)).toEqual([400, error])
  }
  for (const raw of ['', '{', '['.repeat(5_000), '\u0000']) {
    const reply = await t.ask('POST', '/api/oauth/register', { raw })
    expect([reply.status, reply.body.error], raw.slice(0, 5)).toEqual([400, 'invalid_client_metadata'])
  }
  const large = await register({ redirect_uris, client_name: 'x'.repeat(40_000) })
  expect(large.status).toBe(413)
})

test('AD-146 an address registers twenty clients an hour', async () => {
  const limited = await testService()
  const ask = () => limited.ask('POST', '/api/oauth/register', { body: { redirect_uris: ['https://example.com/cb'] } })
  for (let i = 0; i < 20; i++) expect((await ask()).status).toBe(201)
  const refused = await ask()
  expect([refused.status, refused.body]).toEqual([
    429,
    {
      error: 'temporarily_unavailable',
      error_description: 'Too many registrations from this address. Try again later.',
    },
  ])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_500)
})

test('AD-146 R-56 thousands of registrations from one network leave a thousand clients, and refuse or remove nobody else', async () => {
  const org = (await t.org()).org.id
  const used = await person(t, { orgId: org, role: 'owner' })
  const kept = await getTokens(t, { cookie: used.cookie, orgId: org, scopes: ['read:usage'] })
  const from = (address: string) =>
    t.ask('POST', '/api/oauth/register', {
      body: { redirect_uris: ['https://example.com/cb'] },
      headers: { 'x-forwarded-for': address },
    })
  const honest = await from('203.0.113.7')
  await from('2001:db8:1:1::1')
  await t.database.sql(
    `insert into oauth_clients (id, name, redirect_uris, created_at, source)
     select 'oac_' || lpad(n::text, 26, '0'), 'x', '{https://example.com}', $1,
       (select source from oauth_clients where used_at is null order by created_at desc, id desc limit 1)
     from generate_series(1, 1200) as n`,
    [t.service.clock.now()],
  )
  const flood = await Promise.all(Array.from({ length: 20 }, (_, n) => from(`2001:db8:1:${n}::1`)))
  expect(flood.map(({ status }) => status)).toEqual(Array(20).fill(201))
  const others = await Promise.all(Array.from({ length: 20 }, (_, n) => from(`203.0.113.${n + 10}`)))
  expect(others.map(({ status }) => status)).toEqual(Array(20).fill(201))
  await from('203.0.113.8')
  const [unused] = await t.database.sql('select count(*)::int as n from oauth_clients where used_at is null')
  expect(unused?.n).toBe(1_000)
  for (const { body } of [honest, ...others]) {
    const wish = { scope: 'read:usage', redirect_uri: 'https://example.com/cb' }
    expect(await openRequest(t, used.cookie, body.client_id, newPkce(), wish)).not.toBe('')
  }
  // The client that a person allowed keeps its grant, and no trace of who registered it.
  expect((await t.ask('GET', '/api/v1/usage', { key: kept.access })).status).toBe(200)
  expect(await t.database.sql('select distinct source from oauth_clients where used_at is not null')).toEqual([
    { source: null },
  ])
})

test('AD-146 a registration passes over clients that another statement holds, and waits for none', async () => {
  const held = `oac_${'0'.repeat(26)}`
  await t.database.sql(
    `insert into oauth_clients (id, name, redirect_uris, created_at, source)
     select 'oac_' || lpad(n::text, 26, '0'), 'x', '{https://example.com}', $1, 'many'
     from generate_series(0, 1100) as n on conflict (id) do update set source = 'many', created_at = excluded.created_at`,
    [t.service.clock.now()],
  )
  const other = await beginOtherTransaction(t.database)
  await other.sql('update oauth_clients set used_at = created_at where id = $1', [held])
  expect((await register({ redirect_uris: ['https://example.com/cb'] })).status).toBe(201)
  await other.commit()
  expect(await t.database.sql('select source from oauth_clients where id = $1', [held])).toEqual([{ source: 'many' }])
  expect(await clients()).toBeLessThan(1_100)
})

test('AD-146 AD-147 the hourly task deletes what expired, and clients that nobody uses', async () => {
  const who = await person(t, { orgId: (await t.org()).org.id, role: 'owner' })
  const { body: orgs } = await who.ask('GET', '/api/internal/orgs')
  const orgId = orgs.data[0].id
  const count = async (table: string): Promise<number> =>
    (await t.database.sql<{ n: number }>(`select count(*)::int as n from ${table}`))[0]?.n as number
  await t.database.sql('delete from oauth_clients')
  const clientId = await registerClient(t)
  const unused = await registerClient(t)
  const pkce = newPkce()
  const scopes = ['read:usage']
  const id = await openRequest(t, who.cookie, clientId, pkce, { scope: 'read:usage' })
  await openRequest(t, who.cookie, clientId, pkce, { scope: 'read:usage' })
  const { body } = await decide(t, who.cookie, { request_id: id, decision: 'allow', org_id: orgId, scopes })
  const code = new URL(body.redirect_to).searchParams.get('code') as string
  expect((await redeem(t, { clientId, pkce, code })).status).toBe(200)
  const run = () => t.service.tasks.retention?.run()
  await run()
  const tables = ['oauth_clients', 'oauth_requests', 'oauth_grants', 'oauth_access_tokens']
  expect(await Promise.all(tables.map(count))).toEqual([2, 1, 1, 1])
  await advance(86_400)
  await run()
  expect(await Promise.all(tables.map(count))).toEqual([1, 0, 1, 0])
  expect(unused).not.toBe(clientId)
  await advance(29 * 86_400)
  await run()
  expect(await Promise.all(tables.map(count))).toEqual([1, 0, 0, 0])
  await advance(60 * 86_400)
  await run()
  expect(await count('oauth_clients')).toBe(0)
})
