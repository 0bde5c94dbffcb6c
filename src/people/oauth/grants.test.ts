import { afterAll, expect, test } from 'vitest'
import { type TrailEntry, trailOf, withTrail } from '../../../test/audit/trail.ts'
import { getCode, getTokens, refresh, type Tokens } from '../../../test/clients/oauth-client.ts'
import { addMember, signIn } from '../../../test/clients/people.ts'
import { person, primaryOwner } from '../../../test/clients/team-client.ts'
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

const grantAs = async (role: string, scopes: string[]) => {
  const who = await person(t, { orgId, role })
  return { who, tokens: await getTokens(t, { cookie: who.cookie, orgId, scopes }) }
}

test('AD-150 a token loses at its next use what the role no longer allows, and gets it back with the role', async () => {
  const { who, tokens } = await grantAs('owner', ['send:email', 'read:suppressions', 'write:suppressions'])
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
  const { who, tokens } = await grantAs('viewer', ['read:usage'])
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

test('AD-131 deleting the account ends every grant, and the audit log of each org that stays has it', async () => {
  const { who, tokens } = await grantAs('viewer', ['read:usage'])
  const other = await t.org({ name: 'Other' })
  await addMember(t, other.org.id, who.userId, 'developer')
  const own = (await who.ask('POST', '/api/internal/org', { name: 'Own' })).body.id
  const grantFor = (org: string) => getTokens(t, { cookie: who.cookie, orgId: org, scopes: ['read:usage'] })
  const all = [tokens, await grantFor(orgId), await grantFor(other.org.id), await grantFor(own)]
  const bystander = await grantAs('viewer', ['read:usage'])
  const ids = await Promise.all(all.map(async (one) => (await grantsOf(one))[0]?.id))
  for (const { access } of all) expect(await statusWith(access)).toBe(200)

  const deletion = { email: who.email, delete_owned_orgs: true }
  const remove = async () => expect((await who.ask('DELETE', '/api/internal/user', deletion)).status).toBe(200)
  const { result, trail } = await withTrail(t.database, orgId, () => withTrail(t.database, other.org.id, remove))
  for (const { access, refresh: old, clientId } of all) {
    expect(await statusWith(access)).toBe(401)
    expect((await refresh(t, clientId, old)).body).toEqual(invalidGrant)
  }
  expect((await Promise.all(all.map(grantsOf))).flat()).toEqual([])
  const revoked = (entries: TrailEntry[]) => entries.filter(({ action }) => action === 'oauth.revoked')
  const entry = (i: number) => ({
    actor_user_id: null,
    resource_type: 'oauth_grant',
    resource_id: ids[i],
    metadata: { client_id: all[i]?.clientId, reason: 'account_deleted' },
  })
  const byId = (a: TrailEntry, b: TrailEntry) => String(a.resource_id).localeCompare(String(b.resource_id))
  expect(revoked(trail).sort(byId)).toMatchObject([entry(0), entry(1)])
  expect(revoked(result.trail)).toMatchObject([entry(2)])
  expect(revoked(await trailOf(t.database, own))).toEqual([])
  expect(await statusWith(bystander.tokens.access)).toBe(200)
})

test('AD-131 deleting the org ends its grants', async () => {
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
