import { afterAll, expect, test } from 'vitest'
import {
  authorizePath,
  callback,
  decide,
  getCode,
  newPkce,
  openRequest,
  redeem,
  registerClient,
} from '../../../test/clients/oauth-client.ts'
import { person } from '../../../test/clients/team-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import { scopes } from '../../customers/keys/scopes.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())

const acme = await t.org()
const orgId = acme.org.id
const ann = await person(t, { orgId, role: 'developer' })

const ownerOnly = ['read:keys', 'write:keys', 'write:tenants', 'write:projects', 'write:ip_pools', 'write:dlt']
const grantable = scopes.filter((scope) => !ownerOnly.includes(scope))

const rowsOf = (table: string) => t.database.sql<{ n: number }>(`select count(*)::int as n from ${table}`)

/** The parameters with which the browser goes back to the client. */
const returned = (location: unknown): Record<string, string> => {
  expect(String(location).split('?')[0]).toBe(callback)
  return Object.fromEntries(new URL(String(location)).searchParams)
}

const refused = (error: string, error_description: string) => ({
  error,
  error_description,
  state: 'some state',
  iss: t.url,
})

test('AD-146 the documents name every endpoint, the methods and the grantable scopes', async () => {
  const server = await t.ask('GET', '/.well-known/oauth-authorization-server')
  expect([server.status, server.body]).toEqual([
    200,
    {
      issuer: t.url,
      authorization_endpoint: `${t.url}/api/oauth/authorize`,
      token_endpoint: `${t.url}/api/oauth/token`,
      registration_endpoint: `${t.url}/api/oauth/register`,
      revocation_endpoint: `${t.url}/api/oauth/revoke`,
      scopes_supported: grantable,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    },
  ])
  for (const path of ['', '/api/mcp']) {
    const resource = await t.ask('GET', `/.well-known/oauth-protected-resource${path}`)
    expect(resource.body).toMatchObject({
      resource: `${t.url}/api/mcp`,
      authorization_servers: [t.url],
      scopes_supported: grantable,
    })
  }
  const post = await t.ask('POST', '/.well-known/oauth-authorization-server', { body: {} })
  expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD'])
})

test('AD-146 a call without a valid credential is sent to the document of the resource', async () => {
  const metadata = `resource_metadata="${t.url}/.well-known/oauth-protected-resource"`
  const without = await t.ask('GET', '/api/v1/emails')
  expect([without.status, without.headers['www-authenticate']]).toEqual([401, `Bearer ${metadata}`])
  const wrong = await t.ask('GET', '/api/v1/emails', { key: `svc_oat_${'a'.repeat(43)}` })
  expect([wrong.status, wrong.headers['www-authenticate']]).toEqual([401, `Bearer ${metadata}`])
})

test('AD-148 a signed-out visitor goes to sign-in and comes back, and nothing is stored for them', async () => {
  const clientId = await registerClient(t)
  const path = authorizePath(clientId, newPkce(), { scope: 'send:email' })
  const before = await rowsOf('oauth_requests')
  const reply = await t.ask('GET', path)
  expect([reply.status, reply.headers.location]).toEqual([302, `/login?redirect_to=${encodeURIComponent(path)}`])
  expect(reply.headers['cache-control']).toBe('no-store')
  expect(await rowsOf('oauth_requests')).toEqual(before)
  const long = await t.ask('GET', authorizePath(clientId, newPkce(), { state: 'x'.repeat(1_990) }))
  expect([long.status, long.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8'])
})

test('A-342 AD-148 AD-149 R-51 the consent page shows client, orgs and grantable scopes only', async () => {
  const second = await t.org({ name: 'Second' })
  const bob = await person(t, { orgId, role: 'viewer' })
  const clientId = await registerClient(t)
  const scope = 'send:email read:messages read:keys write:keys write:tenants openid'
  const id = await openRequest(t, bob.cookie, clientId, newPkce(), { scope })
  const viewer = await bob.ask('GET', `/api/internal/oauth/request?id=${id}`)
  expect([viewer.status, viewer.body]).toEqual([
    200,
    {
      request_id: id,
      client: { id: clientId, name: 'Desktop assistant', redirect_host: '127.0.0.1' },
      scopes: [
        { name: 'send:email', description: 'Send email from your verified domains', grantable: false },
        {
          name: 'read:messages',
          description: 'Read emails and text messages and what became of them',
          grantable: true,
        },
      ],
      orgs: [{ id: orgId, name: 'Acme', role: 'viewer' }],
    },
  ])
  await t.database.sql(
    `insert into memberships (org_id, id, user_id, role, created_at) values ($1, 'mem_x', $2, 'developer', $3)`,
    [second.org.id, bob.userId, t.service.clock.now()],
  )
  const both = await bob.ask('GET', `/api/internal/oauth/request?id=${id}`)
  expect(both.body.scopes.map((one: { grantable: boolean }) => one.grantable)).toEqual([true, true])
  expect(both.body.orgs.map((org: { name: string }) => org.name)).toEqual(['Acme', 'Second'])
})

test('AD-148 a request belongs to the person who opened it, for ten minutes', async () => {
  const clientId = await registerClient(t)
  const id = await openRequest(t, ann.cookie, clientId, newPkce(), { scope: 'read:usage' })
  const eve = await person(t, { orgId, role: 'owner' })
  const body = { request_id: id, decision: 'allow', org_id: orgId, scopes: ['read:usage'] }
  for (const reply of [
    await eve.ask('GET', `/api/internal/oauth/request?id=${id}`),
    await decide(t, eve.cookie, body),
    await decide(t, ann.cookie, { ...body, request_id: 'unknown' }),
  ]) {
    expect([reply.status, reply.body]).toEqual([404, { error: 'Not found' }])
  }
  await t.database.sql(`update oauth_requests set expires_at = $2 where id = $1`, [id, t.service.clock.now()])
  expect((await ann.ask('GET', `/api/internal/oauth/request?id=${id}`)).status).toBe(404)
  expect((await decide(t, ann.cookie, body)).status).toBe(404)
})

test('AD-152 a decision is made once, and the client learns of a refusal', async () => {
  const clientId = await registerClient(t)
  const id = await openRequest(t, ann.cookie, clientId, newPkce(), { scope: 'read:usage' })
  const reply = await decide(t, ann.cookie, { request_id: id, decision: 'deny' })
  expect(reply.status).toBe(200)
  expect(returned(reply.body.redirect_to)).toEqual(refused('access_denied', 'Access was not allowed.'))
  expect((await decide(t, ann.cookie, { request_id: id, decision: 'deny' })).status).toBe(404)
  const twice = await openRequest(t, ann.cookie, clientId, newPkce(), { scope: 'read:usage' })
  const body = { request_id: twice, decision: 'allow', org_id: orgId, scopes: ['read:usage'] }
  const replies = await Promise.all([1, 2, 3, 4].map(() => decide(t, ann.cookie, body)))
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404])
})

test('AD-149 XD-02 a request for nothing but owner-only or unknown scopes is refused to the client', async () => {
  const clientId = await registerClient(t)
  for (const scope of ['read:keys write:keys', 'openid', 'read:keys']) {
    const reply = await t.ask('GET', authorizePath(clientId, newPkce(), { scope }), { headers: { cookie: ann.cookie } })
    expect(reply.status).toBe(302)
    expect(returned(reply.headers.location)).toEqual(
      refused('invalid_scope', 'None of the requested scopes can be granted.'),
    )
  }
})

test('A-343 AD-149 XD-02 a forged consent cannot grant what the page did not offer, not even an owner', async () => {
  const owner = await person(t, { orgId, role: 'owner' })
  const clientId = await registerClient(t)
  const grants = await rowsOf('oauth_grants')
  const id = await openRequest(t, owner.cookie, clientId, newPkce(), { scope: 'read:usage read:keys write:tenants' })
  for (const forged of [...ownerOnly, 'send:email']) {
    const body = { request_id: id, decision: 'allow', org_id: orgId, scopes: ['read:usage', forged] }
    const reply = await decide(t, owner.cookie, body)
    expect([reply.status, reply.body], forged).toEqual([
      422,
      { error: 'Scope cannot be granted', code: 'SCOPE_NOT_GRANTABLE' },
    ])
  }
  expect(await rowsOf('oauth_grants')).toEqual(grants)
  // The request is still open, so the person can decide on the real page.
  const pkce = newPkce()
  const allowed = await getCode(t, { cookie: owner.cookie, orgId, scopes: ['read:usage'], clientId, pkce })
  expect((await redeem(t, allowed)).body.scope).toBe('read:usage')
})

test('AD-150 XD-02 a member and a viewer grant only read scopes, and nobody grants on a foreign org', async () => {
  for (const role of ['member', 'viewer']) {
    const who = await person(t, { orgId, role })
    const clientId = await registerClient(t)
    const id = await openRequest(t, who.cookie, clientId, newPkce(), { scope: 'send:email read:usage' })
    const body = { request_id: id, decision: 'allow', org_id: orgId, scopes: ['send:email'] }
    const reply = await decide(t, who.cookie, body)
    expect([reply.status, reply.body.code]).toEqual([422, 'SCOPE_NOT_GRANTABLE'])
    const foreign = (await t.org({ name: 'Foreign' })).org.id
    for (const org of [foreign, 'nonsense', 'org_00000000000000000000000000']) {
      const elsewhere = await decide(t, who.cookie, { ...body, org_id: org, scopes: ['read:usage'] })
      expect([elsewhere.status, elsewhere.body]).toEqual([404, { error: 'Not found' }])
    }
    expect((await decide(t, who.cookie, { ...body, scopes: ['read:usage'] })).status).toBe(200)
  }
})

test('AD-72 a suspended org grants nothing', async () => {
  const { org } = await t.org({ name: 'Suspended' })
  const who = await person(t, { orgId: org.id, role: 'owner' })
  await t.database.sql(`update orgs set suspended_at = created_at, suspension_reason = 'x' where id = $1`, [org.id])
  const id = await openRequest(t, who.cookie, await registerClient(t), newPkce(), { scope: 'read:usage' })
  const body = { request_id: id, decision: 'allow', org_id: org.id, scopes: ['read:usage'] }
  const reply = await decide(t, who.cookie, body)
  expect([reply.status, reply.body.code]).toEqual([403, 'ORG_SUSPENDED'])
})

test('AD-56 a consent that another site posts is refused', async () => {
  const id = await openRequest(t, ann.cookie, await registerClient(t), newPkce(), { scope: 'read:usage' })
  const body = { request_id: id, decision: 'allow', org_id: orgId, scopes: ['read:usage'] }
  const headers = { cookie: ann.cookie, 'sec-fetch-site': 'cross-site' }
  const reply = await t.ask('POST', '/api/internal/oauth/consent', { body, headers })
  expect([reply.status, reply.body.code]).toEqual([403, 'CROSS_SITE_REFUSED'])
})

test('AD-147 an unknown client or redirect address gets a page, and the browser is sent nowhere', async () => {
  const clientId = await registerClient(t, { redirect_uris: ['https://app.example/cb', 'http://127.0.0.1/callback'] })
  const path = (more: Record<string, string>) => authorizePath(clientId, newPkce(), { scope: 'read:usage', ...more })
  const wrong: Record<string, string>[] = [
    { client_id: 'oac_00000000000000000000000000' },
    { client_id: 'nonsense' },
    { client_id: '' },
    { redirect_uri: 'https://evil.example/cb' },
    { redirect_uri: 'https://app.example/cb/' },
    { redirect_uri: 'https://app.example/cb?x=1' },
    { redirect_uri: 'https://app.example:444/cb' },
    { redirect_uri: 'http://app.example/cb' },
    { redirect_uri: 'http://127.0.0.1.evil.example/callback' },
    { redirect_uri: 'http://127.0.0.1@evil.example/callback' },
    { redirect_uri: 'http://127.0.0.1:80@evil.example/callback' },
    { redirect_uri: 'http://localhost/callback' },
    { redirect_uri: 'http://127.0.0.1/callback#x' },
    { redirect_uri: 'http://127.0.0.1/other' },
    { redirect_uri: 'javascript:alert(1)' },
    { redirect_uri: '' },
  ]
  for (const more of wrong) {
    const reply = await t.ask('GET', path(more), { headers: { cookie: ann.cookie } })
    expect([reply.status, reply.headers.location], JSON.stringify(more)).toEqual([400, undefined])
    expect(reply.headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(reply.text).not.toContain('evil')
  }
  const twice = await t.ask('GET', `${path({})}&redirect_uri=${encodeURIComponent(callback)}`)
  expect(twice.status).toBe(400)
  for (const uri of ['https://app.example/cb', 'http://127.0.0.1:1/callback', 'http://127.0.0.1/callback']) {
    const reply = await t.ask('GET', path({ redirect_uri: uri }), { headers: { cookie: ann.cookie } })
    expect(String(reply.headers.location), uri).toMatch(/^\/oauth\/consent\?id=/)
  }
})

test('AD-147 a client learns what is wrong with its request: PKCE, response type, resource, repeats', async () => {
  const clientId = await registerClient(t)
  const faults: [Record<string, string>, string][] = [
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ response_type: '' }, 'unsupported_response_type'],
    [{ code_challenge: '' }, 'invalid_request'],
    [{ code_challenge: 'short' }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge_method: '' }, 'invalid_request'],
    [{ resource: 'https://elsewhere.example/api/mcp' }, 'invalid_target'],
    [{ resource: `${t.url}.evil.example/api/mcp` }, 'invalid_target'],
  ]
  const visit = (path: string) => t.ask('GET', path, { headers: { cookie: ann.cookie } })
  for (const [more, error] of faults) {
    const reply = await visit(authorizePath(clientId, newPkce(), { scope: 'read:usage', ...more }))
    expect(returned(reply.headers.location), JSON.stringify(more)).toMatchObject({ error, state: 'some state' })
  }
  const base = authorizePath(clientId, newPkce(), { scope: 'read:usage' })
  for (const more of ['&state=b', '&scope=read:usage', '&response_type=code']) {
    expect(returned((await visit(base + more)).headers.location).error, more).toBe('invalid_request')
  }
  const nul = await visit(authorizePath(clientId, newPkce(), { state: 'a\0b' }))
  expect(returned(nul.headers.location)).toEqual({
    error: 'invalid_request',
    error_description: 'state is given more than once or is invalid.',
    iss: t.url,
  })
  for (const resource of [t.url, `${t.url}/`, `${t.url}/api/mcp`, `${t.url}/api/v1`]) {
    const id = await openRequest(t, ann.cookie, clientId, newPkce(), { scope: 'read:usage', resource })
    expect(id, resource).not.toBe('')
  }
})

test('AD-149 a request without a scope offers everything that can be granted', async () => {
  const id = await openRequest(t, ann.cookie, await registerClient(t), newPkce())
  const { body } = await ann.ask('GET', `/api/internal/oauth/request?id=${id}`)
  expect(body.scopes.map((scope: { name: string }) => scope.name)).toEqual(grantable)
})

test('AD-148 a person has at most twenty open requests', async () => {
  const who = await person(t, { orgId, role: 'viewer' })
  const clientId = await registerClient(t)
  const first = await openRequest(t, who.cookie, clientId, newPkce())
  for (let i = 0; i < 20; i++) await openRequest(t, who.cookie, clientId, newPkce())
  const count = await t.database.sql('select 1 from oauth_requests where user_id = $1', [who.userId])
  expect(count.length).toBe(20)
  expect((await who.ask('GET', `/api/internal/oauth/request?id=${first}`)).status).toBe(404)
})
