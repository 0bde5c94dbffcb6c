import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { advance, keyIdOf, resetKeyCreationLimit } from '../../../../test/clients/key-client.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { startTestService } from '../../../../test/service/service.ts'
import type { CreatedOrg } from '../../../app/operator/create-org.ts'
import { scopes } from '../../../customers/keys/scopes.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())

const path = '/api/internal/api-keys'
const day = 86_400_000

let acme: CreatedOrg
let owner: Member

beforeEach(async () => {
  acme = await t.org()
  owner = await primaryOwner(t, acme.org.id)
})

const withEntries = <T>(work: () => Promise<T>) => withTrail(t.database, acme.org.id, work)
const made = async (body: object = {}) => {
  const reply = await owner.ask('POST', path, body)
  expect(reply.status, reply.text).toBe(201)
  return reply.body
}
const works = async (key: string): Promise<number> => (await t.ask('GET', '/api/v1/domains', { key })).status

describe('creating a key', () => {
  test('A-291 A-051 shows the key once, with its restrictions and the user who created it', async () => {
    const tenantId = await t.tenant(acme.org.id)
    const body = {
      name: 'CI',
      environment: 'test',
      scopes: ['send:email', 'read:domains'],
      tenant_id: tenantId,
      allowed_cidrs: ['203.0.113.7/24', '127.0.0.1'],
      expires_in_days: 90,
      rate_limit_per_minute: 120,
    }
    const { result, trail } = await withEntries(() => owner.ask('POST', path, body))
    const restrictions = {
      scopes: ['send:email', 'read:domains'],
      tenant_id: tenantId,
      project_id: null,
      allowed_domain_ids: null,
      allowed_cidrs: ['203.0.113.0/24', '127.0.0.1/32'],
      rate_limit_per_minute: 120,
      expires_at: new Date(Date.parse(result.body.created_at) + 90 * day).toISOString(),
    }
    const { id, key, created_at } = result.body
    expect([result.status, result.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^key_/),
        name: 'CI',
        environment: 'test',
        key: expect.stringMatching(/^svc_test_/),
        prefix: key.slice(0, 13),
        last_four: key.slice(-4),
        ...restrictions,
        last_used_at: null,
        created_at,
        revoked_at: null,
        created_by: owner.userId,
      },
    ])
    const { key: _key, ...listed } = result.body
    expect((await owner.ask('GET', `${path}?limit=1`)).body.data).toEqual([listed])
    expect(trail).toEqual([
      expect.objectContaining({
        actor_user_id: owner.userId,
        action: 'api_key.created',
        resource_type: 'api_key',
        resource_id: id,
        metadata: { name: 'CI', environment: 'test', ...restrictions },
      }),
    ])
    expect(JSON.stringify(trail)).not.toContain(key)
    expect(await works(key)).toBe(200)
  })

  test('A-291 needs no field, and then makes a live key with every scope', async () => {
    expect(await made()).toMatchObject({ name: 'API key', environment: 'live', scopes: [...scopes], expires_at: null })
  })

  test('A-291 takes no unknown field and no tenant, project or domain that does not exist', async () => {
    const { result, trail } = await withEntries(async () => [
      await owner.ask('POST', path, { allowed_cidr: ['10.0.0.0/8'] }),
      await owner.ask('POST', path, { tenant_id: newId('tenant'), project_id: newId('project') }),
    ])
    expect(result.map(({ status, body }) => [status, body.code])).toEqual([
      [422, 'VALIDATION_ERROR'],
      [422, 'VALIDATION_ERROR'],
    ])
    expect(result[1]?.body.errors.map(({ path: at }: { path: string[] }) => at)).toEqual([
      ['tenant_id'],
      ['project_id'],
    ])
    expect(trail).toEqual([])
  })

  test('A-291 counts ten keys an hour over the API and the dashboard, and says so without a code', async () => {
    for (let n = 0; n < 5; n++) {
      await made()
      await t.ask('POST', '/api/v1/keys', { key: acme.keys.live, body: {} })
    }
    const { result: refused, trail } = await withEntries(() => owner.ask('POST', path, {}))
    expect([refused.status, refused.body]).toEqual([429, { error: 'API key creation limit reached: 10 per hour' }])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_500)
    expect(trail).toEqual([])
    const overApi = await t.ask('POST', '/api/v1/keys', { key: acme.keys.live, body: {} })
    expect([overApi.status, overApi.body.error.code]).toEqual([429, 'KEY_CREATION_RATE_LIMITED'])
    await resetKeyCreationLimit(t)
    await made()
  })

  test('A-291 is refused at the limit of the plan with PLAN_RESOURCE_LIMIT', async () => {
    const free = await t.org({ plan: 'free' })
    for (let n = 2; n < 20; n++) await t.key(free.org.id)
    const reply = await (await primaryOwner(t, free.org.id)).ask('POST', path, {})
    expect([reply.status, reply.body]).toEqual([
      402,
      { error: 'The free plan allows 20 API keys.', code: 'PLAN_RESOURCE_LIMIT' },
    ])
  })
})

describe('changing a key', () => {
  test('A-293 A-294 sets and removes restrictions from the next request on, and keeps the others', async () => {
    const { key, ...before } = await made({ scopes: ['read:domains'], rate_limit_per_minute: 5 })
    const tenantId = await t.tenant(acme.org.id)
    const changes = { rate_limit_per_minute: null, allowed_cidrs: ['192.0.2.1'], tenant_id: tenantId }
    const { result, trail } = await withEntries(() => owner.ask('PATCH', `${path}/${before.id}`, changes))
    const after = { ...before, ...changes, allowed_cidrs: ['192.0.2.1/32'] }
    expect([result.status, result.body]).toEqual([200, after])
    const { name, environment, scopes: held, project_id, allowed_domain_ids, expires_at } = before
    expect(trail).toEqual([
      expect.objectContaining({
        actor_user_id: owner.userId,
        action: 'api_key.updated',
        resource_id: before.id,
        metadata: {
          name,
          environment,
          scopes: held,
          project_id,
          allowed_domain_ids,
          expires_at,
          rate_limit_per_minute: null,
          allowed_cidrs: ['192.0.2.1/32'],
          tenant_id: tenantId,
          changed: ['tenant_id', 'allowed_cidrs', 'rate_limit_per_minute'],
        },
      }),
    ])
    expect(await works(key)).toBe(403)
    await owner.ask('PATCH', `${path}/${before.id}`, { allowed_cidrs: null, name: 'Open', expires_in_days: 1 })
    expect(await works(key)).toBe(200)
  })

  test('A-294 widens a key beyond any other, since an owner has no key to exceed', async () => {
    const { id } = await made({ scopes: ['read:domains'], environment: 'test' })
    const reply = await owner.ask('PATCH', `${path}/${id}`, { scopes: [...scopes] })
    expect([reply.status, reply.body.scopes]).toEqual([200, [...scopes]])
  })

  test('A-293 refuses an empty body, the environment, the project, and a revoked key', async () => {
    const { id } = await made()
    const codeOf = async (body: object) => {
      const reply = await owner.ask('PATCH', `${path}/${id}`, body)
      return [reply.status, reply.body.code]
    }
    expect(await codeOf({})).toEqual([422, 'NO_FIELDS'])
    expect(await codeOf({ environment: 'test' })).toEqual([422, 'VALIDATION_ERROR'])
    expect(await codeOf({ project_id: null })).toEqual([422, 'VALIDATION_ERROR'])
    await owner.ask('DELETE', `${path}?id=${id}`)
    const { result, trail } = await withEntries(() => owner.ask('PATCH', `${path}/${id}`, { name: 'Late' }))
    expect([result.status, result.body]).toEqual([409, { error: 'Key is revoked', code: 'KEY_REVOKED' }])
    expect(trail).toEqual([])
  })
})

describe('revoking a key', () => {
  test('A-292 takes effect at once, and repeating it answers the same and records nothing', async () => {
    const { id, key, name } = await made()
    expect(await works(key)).toBe(200)
    const { result, trail } = await withEntries(async () => {
      const first = await owner.ask('DELETE', `${path}?id=${id}`)
      await advance(t, 5)
      return [first, await owner.ask('DELETE', `${path}?id=${id}`)]
    })
    const answer = [200, { id, revoked_at: expect.stringMatching(/Z$/) }]
    expect(result.map(({ status, body }) => [status, body])).toEqual([answer, [200, result[0]?.body]])
    expect(await works(key)).toBe(401)
    expect(trail).toEqual([
      expect.objectContaining({
        actor_user_id: owner.userId,
        action: 'api_key.revoked',
        resource_id: id,
        metadata: { name, environment: 'live' },
      }),
    ])
  })

  test('A-292 needs an id', async () => {
    const reply = await owner.ask('DELETE', path)
    expect([reply.status, reply.body.errors[0].path]).toEqual([422, ['id']])
  })
})

describe('the list of keys', () => {
  test('A-048 shows every role the keys of both environments without secrets, by environment and tenant', async () => {
    const tenantId = await t.tenant(acme.org.id)
    const bound = await made({ tenant_id: tenantId, environment: 'test' })
    const viewer = await person(t, { orgId: acme.org.id, role: 'viewer' })
    const idsIn = async (query: string) => {
      const reply = await viewer.ask('GET', `${path}${query}`)
      expect(reply.text).not.toContain(bound.key)
      return reply.body.data.map(({ id }: { id: string }) => id).sort()
    }
    const [live, test] = [await keyIdOf(t, acme.keys.live), await keyIdOf(t, acme.keys.test)]
    expect(await idsIn('')).toEqual([live, test, bound.id].sort())
    expect(await idsIn('?environment=test')).toEqual([test, bound.id].sort())
    expect(await idsIn(`?tenant_id=${tenantId}`)).toEqual([bound.id])
    expect(await idsIn(`?tenant_id=${newId('tenant')}`)).toEqual([])
    expect((await viewer.ask('GET', `${path}?environment=staging`)).status).toBe(422)
  })

  test('A-048 lists a revoked key for 90 days', async () => {
    const { id } = await made()
    await owner.ask('DELETE', `${path}?id=${id}`)
    const listed = async () => (await owner.ask('GET', path)).body.data.some((key: { id: string }) => key.id === id)
    expect(await listed()).toBe(true)
    await t.database.sql('update api_keys set revoked_at = $2 where id = $1', [
      id,
      new Date(t.service.clock.millis() - 90 * day),
    ])
    expect(await listed()).toBe(false)
  })
})

test('A-030 a key of another org cannot be changed or revoked', async () => {
  const other = await t.org({ name: 'Other' })
  const id = await keyIdOf(t, other.keys.live)
  await expectOutOfReach(t, owner, { table: 'api_keys', orgId: other.org.id, id, unknownId: newId('key') }, (key) => [
    ['PATCH', `${path}/${key}`, { name: 'Mine' }],
    ['DELETE', `${path}?id=${key}`],
  ])
})
