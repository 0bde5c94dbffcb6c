/** Projects and dedicated IP pools through the dashboard. */
import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { domainClient } from '../../../../test/clients/domain-client.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { iso } from '../../../../test/expect/instants.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const acme = await t.org()
const orgId = acme.org.id
const owner = await primaryOwner(t, orgId)
const developer = await person(t, { orgId, role: 'developer' })
const member = await person(t, { orgId, role: 'member' })
const viewer = await person(t, { orgId, role: 'viewer' })
const other = await t.org()
const stranger = await primaryOwner(t, other.org.id)

const withEntries = <T>(work: () => Promise<T>) => withTrail(t.database, orgId, work)

const made = async (path: string, body: object, who: Member = owner): Promise<string> => {
  const reply = await who.ask('POST', path, body)
  expect(reply.status, reply.text).toBe(201)
  return reply.body.id
}

const expectOwnersOnly = async (path: string, id: string, body: object): Promise<void> => {
  await leavesNoTrace(async () => {
    for (const who of [developer, member, viewer]) {
      expect((await who.ask('GET', path)).body.data[0].id).toBe(id)
      for (const [method, url] of [
        ['POST', path],
        ['PATCH', `${path}/${id}`],
        ['DELETE', `${path}/${id}`],
      ] as const) {
        const reply = await who.ask(method, url, method === 'DELETE' ? undefined : body)
        expect([reply.status, reply.body], method).toEqual([403, { error: 'Owner role required' }])
      }
    }
  })
}

describe('projects', () => {
  const path = '/api/internal/projects'

  test('AD-165 creates, lists, changes and deletes a project, like the API', async () => {
    const created = await owner.ask('POST', path, { name: ' Web shop ' })
    const { id, created_at } = created.body
    const shown = { id, name: 'Web shop', slug: 'web-shop', is_default: false, created_at: iso, updated_at: created_at }
    expect([created.status, created.body]).toEqual([201, shown])
    const read = await t.ask('GET', `/api/v1/projects/${id}`, { key: acme.keys.live })
    expect(read.body).toEqual(shown)
    const { body } = await viewer.ask('GET', path)
    expect([body.data[0], body.data.at(-1).is_default, body.has_more, body.next_cursor]).toEqual([
      shown,
      true,
      false,
      null,
    ])
    const patched = await owner.ask('PATCH', `${path}/${id}`, { name: 'Shop', slug: 'shop' })
    expect([patched.status, patched.body]).toEqual([200, { ...shown, name: 'Shop', slug: 'shop', updated_at: iso }])
    const deleted = await owner.ask('DELETE', `${path}/${id}`)
    expect([deleted.status, deleted.body]).toEqual([200, { id, deleted: true }])
    expect(await t.database.sql('select id from projects where id = $1', [id])).toEqual([])
  })

  test('AD-165 refuses with the codes of the API, in a flat body', async () => {
    const id = await made(path, { name: 'Busy', slug: 'busy' })
    await domainClient(t, acme).added('busy.test', acme.keys.live, { project_id: id })
    const [standard] = await t.database.sql<{ id: string }>(
      'select id from projects where org_id = $1 and is_default',
      [orgId],
    )
    const attempts = [
      ['POST', path, { name: 'New', slug: 'busy' }, 409, 'PROJECT_SLUG_TAKEN'],
      ['PATCH', `${path}/${standard?.id}`, { slug: 'busy' }, 409, 'PROJECT_SLUG_TAKEN'],
      ['DELETE', `${path}/${id}`, undefined, 409, 'PROJECT_NOT_EMPTY'],
      ['DELETE', `${path}/${standard?.id}`, undefined, 409, 'PROJECT_IS_DEFAULT'],
      ['PATCH', `${path}/${id}`, {}, 422, 'NO_FIELDS'],
      ['POST', path, { name: '' }, 422, 'VALIDATION_ERROR'],
    ] as const
    await leavesNoTrace(async () => {
      for (const [method, url, body, status, code] of attempts) {
        const reply = await owner.ask(method, url, body)
        expect([reply.status, reply.body.code, typeof reply.body.error], code).toEqual([status, code, 'string'])
        if (code === 'PROJECT_NOT_EMPTY') {
          expect(reply.body.errors).toEqual([
            { path: ['domains'], code: 'STILL_REFERENCED', message: 'Domains still belong to this project.' },
          ])
        }
      }
    })
  })

  test('AD-165 the plan limits projects', async () => {
    const its = await primaryOwner(t, (await t.org({ plan: 'free' })).org.id)
    await made(path, { name: 'Second' }, its)
    const reply = await leavesNoTrace(() => its.ask('POST', path, { name: 'Third' }))
    expect([reply.status, reply.body]).toEqual([
      402,
      { error: 'The free plan allows 2 projects.', code: 'PLAN_RESOURCE_LIMIT' },
    ])
  })

  test('A-044 AD-165 only an owner changes projects, and every member reads them', async () => {
    await expectOwnersOnly(path, await made(path, { name: 'Kept' }), { name: 'New' })
  })

  test('A-030 a project of another org cannot be reached', async () => {
    const id = await made(path, { name: 'Theirs' }, stranger)
    const foreign = { table: 'projects', orgId: other.org.id, id, unknownId: newId('project') }
    await expectOutOfReach(t, owner, foreign, (project) => [
      ['PATCH', `${path}/${project}`, { name: 'Mine' }],
      ['DELETE', `${path}/${project}`],
    ])
  })
})

describe('dedicated IP pools', () => {
  const path = '/api/internal/ip-pools'
  const ip = { address: expect.stringMatching(/^198\.1[89]\.\d{1,3}\.\d{1,3}$/), status: 'active' }
  const entry = (action: string, id: string, metadata: object) =>
    expect.objectContaining({
      actor_user_id: owner.userId,
      action,
      resource_type: 'ip_pool',
      resource_id: id,
      metadata,
    })

  test('AD-164 AD-99 creates, lists, changes and deletes a pool, under the name of the owner', async () => {
    const body = { name: ' main ', region: 'eu-west-1', ip_count: 2 }
    const created = await withEntries(() => owner.ask('POST', path, body))
    const { id, ips } = created.result.body
    const shown = {
      id,
      name: 'main',
      region: 'eu-west-1',
      paused: false,
      ip_count: 2,
      ips: [ip, ip],
      domain_ids: [],
      created_at: iso,
    }
    expect([created.result.status, created.result.body]).toEqual([201, shown])
    const made = { name: 'main', region: 'eu-west-1', ip_count: 2 }
    expect(created.trail).toEqual([entry('ip_pool.created', id, made)])
    const read = await t.ask('GET', `/api/v1/ip-pools/${id}`, { key: acme.keys.live })
    expect(read.body).toEqual(created.result.body)
    const listed = await viewer.ask('GET', path)
    expect([listed.status, listed.body]).toEqual([
      200,
      { data: [created.result.body], has_more: false, next_cursor: null },
    ])
    const patched = await withEntries(() => owner.ask('PATCH', `${path}/${id}`, { paused: true, ip_count: 1 }))
    expect([patched.result.status, patched.result.body]).toEqual([
      200,
      { ...shown, paused: true, ip_count: 1, ips: [ips[0]] },
    ])
    expect(patched.trail).toEqual([entry('ip_pool.updated', id, { paused: true, ip_count: 1 })])
    const removed = await withEntries(() => owner.ask('DELETE', `${path}/${id}`))
    expect([removed.result.status, removed.result.body]).toEqual([200, { id, deleted: true }])
    expect(removed.trail).toEqual([entry('ip_pool.removed', id, { name: 'main', region: 'eu-west-1' })])
  })

  test('AD-164 refuses to delete a pool in use, to exceed the plan and to change nothing', async () => {
    const id = await made(path, { name: 'used' })
    const domains = domainClient(t, acme)
    const domainId = await domains.added('pooled.test')
    expect((await domains.patch(domainId, { ip_pool_id: id })).status).toBe(200)
    expect((await viewer.ask('GET', path)).body.data[0].domain_ids).toEqual([domainId])
    const its = await primaryOwner(t, (await t.org({ plan: 'free' })).org.id)
    await leavesNoTrace(async () => {
      const answers = [
        await owner.ask('DELETE', `${path}/${id}`),
        await its.ask('POST', path, { name: 'one' }),
        await owner.ask('PATCH', `${path}/${id}`, { region: 'eu-west-1' }),
        await owner.ask('POST', path, { name: 'x', ip_count: 0 }),
      ]
      expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
        [409, 'IP_POOL_IN_USE'],
        [402, 'DEDICATED_IP_LIMIT_EXCEEDED'],
        [422, 'NO_FIELDS'],
        [422, 'VALIDATION_ERROR'],
      ])
    })
  })

  test('A-057 only an owner changes dedicated IP pools, and every member reads them', async () => {
    await expectOwnersOnly(path, await made(path, { name: 'Kept' }), { name: 'New' })
  })

  test('A-030 an IP pool of another org cannot be reached', async () => {
    const id = await made(path, { name: 'Theirs' }, stranger)
    const foreign = { table: 'ip_pools', orgId: other.org.id, id, unknownId: newId('ipPool') }
    await expectOutOfReach(t, owner, foreign, (pool) => [
      ['PATCH', `${path}/${pool}`, { paused: true }],
      ['DELETE', `${path}/${pool}`],
    ])
  })
})
