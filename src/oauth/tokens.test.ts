import { afterAll, expect, test } from 'vitest'
import { trailOf, withTrail } from '../../test/audit/trail.ts'
import {
  getCode,
  getTokens,
  newPkce,
  postForm,
  redeem,
  refresh,
  registerClient,
  type Tokens,
} from '../../test/clients/oauth-client.ts'
import { signIn } from '../../test/clients/people.ts'
import { person, primaryOwner } from '../../test/clients/team-client.ts'
import { startTestService } from '../../test/service/service.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())

const acme = await t.org()
const orgId = acme.org.id
const ann = await person(t, { orgId, role: 'developer' })
/** Some tests move the clock by weeks, so the person signs in again each time. */
const wish = async (scopes: string[] = ['read:usage', 'read:messages']) => ({
  cookie: await signIn(t, ann.userId),
  orgId,
  scopes,
})

const invalidGrant = {
  error: 'invalid_grant',
  error_description: 'The code or refresh token is invalid, expired, used or issued to another client.',
}

const statusWith = async (token: string, path = '/api/v1/usage'): Promise<number> =>
  (await t.ask('GET', path, { key: token })).status
const grantsOf = ({ clientId }: { clientId: string }) =>
  t.database.sql<{ id: string }>('select id from oauth_grants where client_id = $1', [clientId])
const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })

test('AD-147 a code becomes an access token of one hour and a refresh token, both stored as hashes', async () => {
  const code = await getCode(t, await wish())
  const reply = await redeem(t, code)
  expect(reply.status).toBe(200)
  expect(reply.headers['cache-control']).toBe('no-store')
  expect(reply.body).toEqual({
    access_token: expect.stringMatching(/^svc_oat_[\w-]{43}$/),
    token_type: 'Bearer',
    expires_in: 3600,
    refresh_token: expect.stringMatching(/^svc_ort_[\w-]{43}\.[\w-]{43}$/),
    scope: 'read:messages read:usage',
  })
  expect(await statusWith(reply.body.access_token)).toBe(200)
  const stored = JSON.stringify([
    await t.database.sql('select * from oauth_grants'),
    await t.database.sql('select * from oauth_access_tokens'),
  ])
  for (const secret of [code.code, reply.body.access_token, ...reply.body.refresh_token.slice(8).split('.')]) {
    expect(stored).not.toContain(secret)
  }
})

test('AD-147 a code works for its own client, verifier and redirect address only, and a failed attempt spends nothing', async () => {
  const code = await getCode(t, await wish())
  const other = await registerClient(t)
  const faults: [Record<string, string>, number, string][] = [
    [{ client_id: other }, 400, 'invalid_grant'],
    [{ code_verifier: newPkce().verifier }, 400, 'invalid_grant'],
    [{ redirect_uri: 'http://127.0.0.1:7778/callback' }, 400, 'invalid_grant'],
    [{ code: `svc_oac_${'a'.repeat(43)}` }, 400, 'invalid_grant'],
    [{ code: 'nonsense' }, 400, 'invalid_grant'],
    [{ code_verifier: 'short' }, 400, 'invalid_request'],
    [{ code_verifier: '' }, 400, 'invalid_request'],
    [{ code: '' }, 400, 'invalid_request'],
    [{ client_id: '' }, 400, 'invalid_request'],
    [{ client_id: 'oac_00000000000000000000000000' }, 401, 'invalid_client'],
    [{ client_id: "' or 1=1" }, 401, 'invalid_client'],
    [{ grant_type: 'password' }, 400, 'unsupported_grant_type'],
    [{ grant_type: 'constructor' }, 400, 'unsupported_grant_type'],
    [{ grant_type: '' }, 400, 'invalid_request'],
    [{ resource: 'https://elsewhere.example' }, 400, 'invalid_target'],
    [{ redirect_uri: 'a\0b' }, 400, 'invalid_request'],
  ]
  for (const [more, status, error] of faults) {
    const reply = await redeem(t, code, more)
    expect([reply.status, reply.body.error], JSON.stringify(more)).toEqual([status, error])
  }
  expect((await redeem(t, code)).status).toBe(200)
})

test('AD-147 a code expires after 60 seconds', async () => {
  const [late, intime] = [await getCode(t, await wish()), await getCode(t, await wish())]
  await advance(59)
  expect((await redeem(t, intime)).status).toBe(200)
  await advance(1)
  const reply = await redeem(t, late)
  expect([reply.status, reply.body]).toEqual([400, invalidGrant])
})

// A thief does not have the verifier, the client itself does.
test.each([
  ['without its verifier', { code_verifier: newPkce().verifier }],
  ['with its verifier', {}],
])('AD-147 the second use of a code %s revokes the tokens of the first, and is audited', async (_, more) => {
  const code = await getCode(t, await wish())
  const [{ id } = { id: '' }] = await grantsOf(code)
  const first = await redeem(t, code)
  const { result: second, trail } = await withTrail(t.database, orgId, () => redeem(t, code, more))
  expect([second.status, second.body]).toEqual([400, invalidGrant])
  expect(await statusWith(first.body.access_token)).toBe(401)
  expect((await refresh(t, code.clientId, first.body.refresh_token)).body).toEqual(invalidGrant)
  expect(trail).toEqual([
    expect.objectContaining({
      actor_user_id: null,
      action: 'oauth.revoked',
      resource_type: 'oauth_grant',
      resource_id: id,
      metadata: { client_id: code.clientId, reason: 'code_reused', user_id: ann.userId },
      ip_address: '127.0.0.1',
    }),
  ])
})

test('AD-147 of many concurrent uses of a code one gets tokens at most, and none of them work afterwards', async () => {
  for (let round = 0; round < 5; round++) {
    const code = await getCode(t, await wish())
    const replies = await Promise.all(Array.from({ length: 8 }, () => redeem(t, code)))
    const won = replies.filter(({ status }) => status === 200)
    expect(won.length).toBe(1)
    expect(await statusWith(won[0]?.body.access_token)).toBe(401)
    expect(await grantsOf(code)).toEqual([])
  }
})

test('AD-147 XD-02 a refresh gives new tokens for 30 days, and each refresh token works once', async () => {
  const tokens = await getTokens(t, await wish())
  const first = await refresh(t, tokens.clientId, tokens.refresh)
  expect([first.status, first.body.scope, first.body.expires_in]).toEqual([200, 'read:messages read:usage', 3600])
  expect(first.body.refresh_token).not.toBe(tokens.refresh)
  expect(await statusWith(first.body.access_token)).toBe(200)
  await advance(30 * 86_400 - 1)
  const second = await refresh(t, tokens.clientId, first.body.refresh_token)
  expect(second.status).toBe(200)
  await advance(30 * 86_400)
  const late = await refresh(t, tokens.clientId, second.body.refresh_token)
  expect([late.status, late.body]).toEqual([400, invalidGrant])
})

test('AD-147 an access token works for one hour', async () => {
  const tokens = await getTokens(t, await wish())
  await advance(3_599)
  expect(await statusWith(tokens.access)).toBe(200)
  await advance(1)
  expect(await statusWith(tokens.access)).toBe(401)
})

test('AD-147 XD-02 an old refresh token ends the grant with every token of it', async () => {
  const tokens = await getTokens(t, await wish())
  const bystander = await getTokens(t, { ...(await wish()), clientId: tokens.clientId })
  const [{ id } = { id: '' }] = await grantsOf(tokens)
  const next = await refresh(t, tokens.clientId, tokens.refresh)
  const { result, trail } = await withTrail(t.database, orgId, () => refresh(t, tokens.clientId, tokens.refresh))
  expect([result.status, result.body]).toEqual([400, invalidGrant])
  for (const token of [tokens.access, next.body.access_token]) expect(await statusWith(token)).toBe(401)
  expect((await refresh(t, tokens.clientId, next.body.refresh_token)).body).toEqual(invalidGrant)
  expect(await statusWith(bystander.access)).toBe(200)
  expect(trail.map(({ action, resource_id, metadata }) => [action, resource_id, metadata?.reason])).toEqual([
    ['oauth.revoked', id, 'refresh_token_reused'],
  ])
})

test('AD-147 of many concurrent uses of a refresh token one succeeds, and the grant ends', async () => {
  for (let round = 0; round < 5; round++) {
    const tokens = await getTokens(t, await wish())
    const replies = await Promise.all(Array.from({ length: 8 }, () => refresh(t, tokens.clientId, tokens.refresh)))
    expect(replies.filter(({ status }) => status === 200).length).toBe(1)
    expect(await grantsOf(tokens)).toEqual([])
  }
})

test('AD-147 a stranger cannot end a grant with a guessed or foreign token', async () => {
  const tokens = await getTokens(t, await wish())
  const other = await getTokens(t, await wish())
  const [, family = '', last = ''] = tokens.refresh.match(/^svc_ort_(.*)\.(.*)$/) ?? []
  const guesses = [`svc_ort_${'a'.repeat(43)}.${last}`, `svc_ort_${family.slice(1)}a.${last}`, 'x', family]
  for (const guess of guesses) {
    expect((await refresh(t, tokens.clientId, guess)).body).toEqual(invalidGrant)
  }
  // The right token with the wrong client changes nothing either.
  expect((await refresh(t, other.clientId, tokens.refresh)).body).toEqual(invalidGrant)
  expect(await statusWith(tokens.access)).toBe(200)
  expect((await refresh(t, tokens.clientId, tokens.refresh)).status).toBe(200)
})

test('AD-147 a refresh can narrow the scopes of an access token and never widen them', async () => {
  const tokens = await getTokens(t, await wish())
  const wide = await refresh(t, tokens.clientId, tokens.refresh, { scope: 'read:usage send:email' })
  expect([wide.status, wide.body.error]).toEqual([400, 'invalid_scope'])
  const foreign = await refresh(t, tokens.clientId, tokens.refresh, { scope: 'write:keys' })
  expect([foreign.status, foreign.body.error]).toEqual([400, 'invalid_scope'])
  const narrow = await refresh(t, tokens.clientId, tokens.refresh, { scope: 'read:usage' })
  expect([narrow.status, narrow.body.scope]).toEqual([200, 'read:usage'])
  expect(await statusWith(narrow.body.access_token, '/api/v1/emails')).toBe(403)
  const again = await refresh(t, tokens.clientId, narrow.body.refresh_token)
  expect(again.body.scope).toBe('read:messages read:usage')
})

test('AD-147 a grant keeps ten access tokens, however often its client refreshes', async () => {
  const tokens = await getTokens(t, await wish())
  let latest = tokens.refresh
  for (let i = 0; i < 12; i++) latest = (await refresh(t, tokens.clientId, latest)).body.refresh_token
  const rows = await t.database.sql(
    `select 1 from oauth_access_tokens a join oauth_grants g on g.org_id = a.org_id and g.id = a.grant_id
     where g.client_id = $1`,
    [tokens.clientId],
  )
  expect(rows.length).toBe(10)
})

const revoke = (fields: Record<string, string>) => postForm(t, '/api/oauth/revoke', fields)

test('AD-146 revoking a refresh token ends the grant, in the name of the person', async () => {
  const tokens = await getTokens(t, await wish())
  const other = await registerClient(t)
  expect((await revoke({ token: tokens.refresh, client_id: other })).status).toBe(200)
  expect(await statusWith(tokens.access)).toBe(200)
  const { result, trail } = await withTrail(t.database, orgId, () =>
    revoke({ token: tokens.refresh, client_id: tokens.clientId, token_type_hint: 'access_token' }),
  )
  expect([result.status, result.body]).toEqual([200, {}])
  expect(await statusWith(tokens.access)).toBe(401)
  expect(trail).toEqual([
    expect.objectContaining({
      actor_user_id: ann.userId,
      action: 'oauth.revoked',
      metadata: { client_id: tokens.clientId, reason: 'client', user_id: ann.userId, via: 'oauth' },
    }),
  ])
  expect((await revoke({ token: tokens.refresh })).status).toBe(200)
})

test('AD-146 revoking an access token ends that token only, and an unknown token is not an error', async () => {
  const tokens = await getTokens(t, await wish())
  expect((await revoke({ token: tokens.access })).status).toBe(200)
  expect(await statusWith(tokens.access)).toBe(401)
  expect((await refresh(t, tokens.clientId, tokens.refresh)).status).toBe(200)
  expect((await revoke({ token: 'nonsense' })).status).toBe(200)
  const without = await revoke({})
  expect([without.status, without.body.error]).toEqual([400, 'invalid_request'])
})

test('AD-146 the token endpoint takes forms only, each parameter once', async () => {
  const json = await t.ask('POST', '/api/oauth/token', { body: { grant_type: 'refresh_token' } })
  expect([json.status, json.body.error]).toEqual([400, 'invalid_request'])
  const twice = await postForm(t, '/api/oauth/token', [
    ['grant_type', 'refresh_token'],
    ['grant_type', 'authorization_code'],
  ])
  expect([twice.status, twice.body]).toEqual([
    400,
    { error: 'invalid_request', error_description: 'grant_type is given more than once.' },
  ])
  const large = await postForm(t, '/api/oauth/token', { grant_type: 'x'.repeat(40_000) })
  expect(large.status).toBe(413)
  const get = await t.ask('GET', '/api/oauth/token')
  expect([get.status, get.headers.allow]).toEqual([405, 'POST'])
})

const wish2 = async (role: string, scopes: string[]) => {
  const who = await person(t, { orgId, role })
  return { who, tokens: await getTokens(t, { cookie: who.cookie, orgId, scopes }) }
}

test('AD-150 a token loses at its next use what the role no longer allows, and gets it back with the role', async () => {
  const { who, tokens } = await wish2('developer', ['send:email', 'read:suppressions', 'write:suppressions'])
  const write = () => t.ask('DELETE', '/api/v1/suppressions/sup_00000000000000000000000000', { key: tokens.access })
  expect((await write()).status).toBe(404)
  const owner = await primaryOwner(t, orgId)
  for (const [role, status] of [
    ['member', 403],
    ['viewer', 403],
    ['developer', 404],
  ] as const) {
    await owner.ask('PATCH', '/api/internal/team/members', { id: who.membershipId, role })
    const reply = await write()
    expect([role, reply.status]).toEqual([role, status])
    if (status === 403) expect(reply.body.error.code).toBe('INSUFFICIENT_SCOPE')
    expect(await statusWith(tokens.access, '/api/v1/suppressions')).toBe(200)
  }
  await t.database.sql(`update memberships set role = 'emperor' where id = $1`, [who.membershipId])
  expect(await statusWith(tokens.access, '/api/v1/suppressions')).toBe(403)
})

test('AD-78 AD-150 XD-02 leaving the org ends the grant at once and for good, and the audit log has it', async () => {
  const { who, tokens } = await wish2('viewer', ['read:usage'])
  const [{ id } = { id: '' }] = await grantsOf(tokens)
  const owner = await primaryOwner(t, orgId)
  const { trail } = await withTrail(t.database, orgId, () =>
    owner.ask('DELETE', `/api/internal/team/members?id=${who.membershipId}`),
  )
  expect(trail.map(({ action, actor_user_id, resource_id }) => [action, actor_user_id, resource_id])).toEqual([
    ['oauth.revoked', owner.userId, id],
    ['member.removed', owner.userId, who.membershipId],
  ])
  expect(trail[0]?.metadata).toEqual({ client_id: tokens.clientId, reason: 'member_removed', user_id: who.userId })
  expect(await statusWith(tokens.access)).toBe(401)
  await t.database.sql(
    `insert into memberships (org_id, id, user_id, role, created_at) values ($1, $2, $3, 'owner', $4)`,
    [orgId, who.membershipId, who.userId, t.service.clock.now()],
  )
  expect(await statusWith(tokens.access)).toBe(401)
  expect((await refresh(t, tokens.clientId, tokens.refresh)).body).toEqual(invalidGrant)
})

test('AD-131 deleting the account or the org ends its grants', async () => {
  const { who, tokens } = await wish2('viewer', ['read:usage'])
  expect((await who.ask('DELETE', '/api/internal/user', { email: who.email })).status).toBe(200)
  expect(await statusWith(tokens.access)).toBe(401)
  expect(await grantsOf(tokens)).toEqual([])

  const { org } = await t.org({ name: 'Closing' })
  const owner = await primaryOwner(t, org.id)
  const last = await getTokens(t, { cookie: owner.cookie, orgId: org.id, scopes: ['read:usage'] })
  const reply = await owner.ask('DELETE', '/api/internal/org', { confirm: org.slug })
  expect(reply.status).toBe(200)
  expect(await statusWith(last.access)).toBe(401)
  expect(await grantsOf(last)).toEqual([])
})

test('AD-151 AD-152 audit entries of a token name the person and the client, and the consent has its own entry', async () => {
  let tokens: Tokens | undefined
  const { trail: granting } = await withTrail(t.database, orgId, async () => {
    tokens = await getTokens(t, await wish(['write:suppressions', 'send:email']))
  })
  const { clientId, access } = tokens as unknown as Tokens
  const [{ id } = { id: '' }] = await grantsOf({ clientId })
  expect(granting).toEqual([
    expect.objectContaining({
      actor_user_id: ann.userId,
      action: 'oauth.granted',
      resource_type: 'oauth_grant',
      resource_id: id,
      metadata: {
        client_id: clientId,
        client_name: 'Desktop assistant',
        scopes: ['send:email', 'write:suppressions'],
      },
    }),
  ])
  const { result, trail } = await withTrail(t.database, orgId, async () => [
    await t.ask('POST', '/api/v1/suppressions', {
      key: access,
      body: { channel: 'email', value: 'oauth@example.com' },
    }),
    await t.ask('POST', '/api/v1/emails', {
      key: access,
      headers: { 'x-service-tenant-ref': 'new-one' },
      body: { from: 'hello@example.test', to: ['ada@example.com'], subject: 'Hi', text: 'Hi' },
    }),
  ])
  expect(result.map(({ status }) => status)).toEqual([201, 200])
  expect(trail.map(({ action }) => action)).toEqual(['suppression.added', 'tenant.created', 'message.sent'])
  for (const entry of trail) {
    expect(entry.actor_user_id, entry.action).toBe(ann.userId)
    expect(entry.metadata, entry.action).toMatchObject({ via: 'oauth', client_id: clientId })
  }
})

test('AD-151 a token acts as a live key of the whole org within the rate limit of the org', async () => {
  const limited = await startTestService({ database: t.database })
  try {
    const { org } = await t.org({ name: 'Limited' })
    const owner = await primaryOwner(t, org.id)
    const tokens = await getTokens(t, { cookie: owner.cookie, orgId: org.id, scopes: ['read:usage'] })
    await t.database.sql('update orgs set rate_limit_per_minute = 3 where id = $1', [org.id])
    const key = await t.key(org.id)
    const replies = []
    for (const used of [tokens.access, key, tokens.access, tokens.access]) {
      replies.push(await limited.ask('GET', '/api/v1/usage', { key: used }))
    }
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 429])
    expect(replies[2]?.headers['x-ratelimit-scope']).toBe('org')
    expect(replies[2]?.headers['x-ratelimit-remaining']).toBe('0')
    await t.database.sql(`update orgs set suspended_at = created_at, suspension_reason = 'x' where id = $1`, [org.id])
    const suspended = await limited.ask('GET', '/api/v1/usage', { key: tokens.access })
    expect([suspended.status, suspended.body.error.code]).toEqual([403, 'ORG_SUSPENDED'])
  } finally {
    await limited.stop()
  }
})

test('A-028 an access token is no session and opens no route of the dashboard', async () => {
  const tokens = await getTokens(t, await wish(['read:usage']))
  const reply = await t.ask('GET', '/api/internal/orgs', { key: tokens.access })
  expect(reply.status).toBe(401)
  const cookie = await t.ask('GET', '/api/internal/orgs', { headers: { cookie: `service_session=${tokens.access}` } })
  expect(cookie.status).toBe(401)
})

test('AD-152 AD-170 a person lists and ends their own grants, an owner all grants of the org', async () => {
  const { org } = await t.org({ name: 'Listed' })
  const owner = await primaryOwner(t, org.id)
  const bob = await person(t, { orgId: org.id, role: 'viewer' })
  const own = await getTokens(t, { cookie: bob.cookie, orgId: org.id, scopes: ['read:usage'] })
  const ofOwner = await getTokens(t, { cookie: owner.cookie, orgId: org.id, scopes: ['send:email'] })
  await getCode(t, { cookie: owner.cookie, orgId: org.id, scopes: ['send:sms'] })
  // The last code is never used, so its grant ends by itself.
  await advance(61)
  expect(await statusWith(own.access)).toBe(200)
  const bobs = () => bob.ask('GET', '/api/internal/oauth/grants')
  await expect.poll(async () => (await bobs()).body.data[0]?.last_used_at).not.toBe(null)
  const [{ id, created_at, last_used_at }] = (await bobs()).body.data
  expect((await bobs()).body).toEqual({
    data: [
      {
        id,
        client_name: 'Desktop assistant',
        user_id: bob.userId,
        org_id: org.id,
        scopes: ['read:usage'],
        created_at,
        last_used_at,
      },
    ],
    has_more: false,
    next_cursor: null,
  })
  const first = await owner.ask('GET', '/api/internal/org/oauth-grants?limit=1')
  const second = await owner.ask('GET', `/api/internal/org/oauth-grants?limit=1&cursor=${first.body.next_cursor}`)
  expect([first, second].map(({ body }) => [body.data[0].user_id, body.has_more])).toEqual([
    [owner.userId, true],
    [bob.userId, false],
  ])
  const ofOwnerId = first.body.data[0].id
  for (const path of [`oauth/grants?id=${ofOwnerId}`, 'oauth/grants?id=oag_00000000000000000000000000']) {
    const reply = await bob.ask('DELETE', `/api/internal/${path}`)
    expect([reply.status, reply.body]).toEqual([404, { error: 'Not found' }])
  }
  const stranger = await primaryOwner(t, orgId)
  expect((await stranger.ask('DELETE', `/api/internal/org/oauth-grants?id=${id}`)).status).toBe(404)
  const byOwner = await owner.ask('DELETE', `/api/internal/org/oauth-grants?id=${id}`)
  expect([byOwner.status, byOwner.body]).toEqual([200, { deleted: true, id }])
  expect(await statusWith(own.access)).toBe(401)
  expect((await owner.ask('DELETE', `/api/internal/oauth/grants?id=${ofOwnerId}`)).status).toBe(200)
  expect(await statusWith(ofOwner.access)).toBe(401)
  const trail = (await trailOf(t.database, org.id)).filter(({ action }) => action === 'oauth.revoked')
  expect(trail.map(({ actor_user_id, metadata }) => [actor_user_id, metadata?.reason])).toEqual([
    [owner.userId, 'owner'],
    [owner.userId, 'user'],
  ])
})
