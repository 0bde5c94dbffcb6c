import { afterAll, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import {
  getCode,
  getTokens,
  newPkce,
  postForm,
  redeem,
  refresh,
  registerClient,
} from '../../../test/clients/oauth-client.ts'
import { signIn } from '../../../test/clients/people.ts'
import { person } from '../../../test/clients/team-client.ts'
import { startTestService } from '../../../test/service/service.ts'

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
  const [{ id } = { id: '' }] = await grantsOf(tokens)
  const bystander = await getTokens(t, { ...(await wish()), clientId: tokens.clientId })
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
