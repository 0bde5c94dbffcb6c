/** Messaging pools and DLT registrations through the dashboard. */
import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { dltClient } from '../../../../test/clients/dlt-client.ts'
import { freshSlug, poolClient } from '../../../../test/clients/pool-client.ts'
import { person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { iso } from '../../../../test/expect/instants.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { type IdKind, newId } from '../../../platform/ground/ids.ts'

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

const withEntries = <T>(work: () => Promise<T>) => withTrail(t.database, orgId, work)

describe('pools', () => {
  const path = '/api/internal/pools'
  const pools = poolClient(t, acme)

  test('AD-163 a developer creates, changes and deletes a pool', async () => {
    const [first, second] = [await pools.sender(), await pools.sender()]
    const slug = freshSlug()
    const fields = { slug, name: 'Codes', tenant_id: null, phone_number_ids: [first] }
    const entry = (action: string, id: string, metadata: object) =>
      expect.objectContaining({
        actor_user_id: developer.userId,
        action,
        resource_type: 'pool',
        resource_id: id,
        metadata,
      })
    const created = await withEntries(() => developer.ask('POST', path, fields))
    const { id } = created.result.body
    const pool = { id, ...fields, created_at: iso, updated_at: iso }
    expect([created.result.status, created.result.body]).toEqual([201, pool])
    expect(created.trail).toEqual([entry('pool.created', id, fields)])
    expect((await pools.get(id)).body).toEqual(created.result.body)
    expect((await viewer.ask('GET', `${path}?id=${id}`)).body).toEqual(created.result.body)
    expect((await viewer.ask('GET', `${path}?limit=1`)).body.data).toEqual([created.result.body])
    const again = await leavesNoTrace(() => developer.ask('POST', path, { ...fields, phone_number_ids: [second] }))
    expect([again.status, again.body.code]).toEqual([409, 'POOL_SLUG_TAKEN'])

    const changed = { ...fields, name: 'Both', phone_number_ids: [second, first] }
    const { name, phone_number_ids } = changed
    const patched = await withEntries(() => developer.ask('PATCH', `${path}/${id}`, { name, phone_number_ids }))
    expect([patched.result.status, patched.result.body]).toEqual([200, { ...pool, ...changed }])
    expect(patched.trail).toEqual([entry('pool.updated', id, changed)])
    const empty = await leavesNoTrace(() => developer.ask('PATCH', `${path}/${id}`, { slug: 'x' }))
    expect([empty.status, empty.body.code]).toEqual([422, 'NO_FIELDS'])

    const removed = await withEntries(() => developer.ask('DELETE', `${path}/${id}`))
    expect([removed.result.status, removed.result.body]).toEqual([200, { id, deleted: true }])
    expect(removed.trail).toEqual([entry('pool.removed', id, changed)])
  })

  test('AD-153 a pool can belong to a tenant, and is listed by it', async () => {
    const tenantId = await t.tenant(orgId)
    const sender = await pools.sender()
    const body = { slug: freshSlug(), name: 'Theirs', tenant_id: tenantId, phone_number_ids: [sender] }
    const { id } = (await developer.ask('POST', path, body)).body
    const ids = async (query: string) =>
      (await viewer.ask('GET', `${path}?${query}`)).body.data.map((row: { id: string }) => row.id)
    expect(await ids(`tenant_id=${tenantId}`)).toEqual([id])
    expect(await ids(`tenant_id=${newId('tenant')}`)).toEqual([])
    const foreign = await t.tenant(other.org.id)
    const refused = await leavesNoTrace(async () =>
      developer.ask('POST', path, { ...body, slug: freshSlug(), tenant_id: foreign }),
    )
    expect([refused.status, refused.body.errors[0].path]).toEqual([422, ['tenant_id']])
  })

  test('A-072 a member and a viewer read pools and change none', async () => {
    const id = await pools.made()
    const body = { slug: freshSlug(), name: 'New', phone_number_ids: [await pools.sender()] }
    await leavesNoTrace(async () => {
      for (const who of [member, viewer]) {
        expect((await who.ask('GET', `${path}?id=${id}`)).status).toBe(200)
        for (const [method, url, sent] of [
          ['POST', path, body],
          ['PATCH', `${path}/${id}`, { name: 'New' }],
          ['DELETE', `${path}/${id}`],
        ] as const) {
          const reply = await who.ask(method, url, sent)
          expect([reply.status, reply.body], method).toEqual([403, { error: 'Developer or owner role required' }])
        }
      }
    })
  })

  test('A-030 pools and senders of another org cannot be reached', async () => {
    const theirs = poolClient(t, other)
    const id = await theirs.made()
    const foreign = { table: 'pools', orgId: other.org.id, id, unknownId: newId('pool') }
    await expectOutOfReach(t, developer, foreign, (pool) => [
      ['GET', `${path}?id=${pool}`],
      ['PATCH', `${path}/${pool}`, { name: 'Mine' }],
      ['DELETE', `${path}/${pool}`],
    ])
    const body = { slug: freshSlug(), name: 'New', phone_number_ids: [await theirs.sender()] }
    const refused = await leavesNoTrace(() => developer.ask('POST', path, body))
    expect([refused.status, refused.body.code]).toEqual([422, 'VALIDATION_ERROR'])
  })
})

describe('DLT registrations', () => {
  const at = '/api/internal/dlt'
  const dlt = dltClient(t, acme)
  const bodies = (entity: string, header: string) => ({
    entities: { entity_id: '1101234567890123456', legal_name: 'Acme India' },
    headers: { entity, header: 'ACMEIN', category: 'transactional' },
    templates: { entity, header, name: 'OTP', category: 'transactional', content: 'Your code is {#var#}' },
  })

  test('A-058 AD-162 an owner registers and removes an entity, a header and a template', async () => {
    const made: Record<string, string> = {}
    for (const noun of ['entities', 'headers', 'templates'] as const) {
      const body = bodies(made.entities ?? '', made.headers ?? '')[noun]
      const { result, trail } = await withEntries(() => owner.ask('POST', `${at}/${noun}`, body))
      expect(result.status, result.text).toBe(201)
      const { id } = result.body
      made[noun] = id
      expect(result.body).toMatchObject({ ...body, id, rejection_reason: null, created_at: iso })
      expect(result.body).toEqual((await dlt.get(noun, id)).body)
      expect((await viewer.ask('GET', `${at}/${noun}?id=${id}`)).body).toEqual(result.body)
      expect((await viewer.ask('GET', `${at}/${noun}`)).body).toEqual({
        data: [result.body],
        has_more: false,
        next_cursor: null,
      })
      expect(trail).toMatchObject([
        { actor_user_id: owner.userId, action: 'dlt.created', resource_type: 'dlt', resource_id: id },
      ])
    }
    for (const [noun, id] of Object.entries(made).reverse()) {
      const { result, trail } = await withEntries(() => owner.ask('DELETE', `${at}/${noun}?id=${id}`))
      expect([result.status, result.body]).toEqual([200, { id, deleted: true }])
      expect(trail).toMatchObject([
        { actor_user_id: owner.userId, action: 'dlt.removed', resource_type: 'dlt', resource_id: id },
      ])
      expect((await viewer.ask('GET', `${at}/${noun}?id=${id}`)).status).toBe(404)
    }
  })

  test('A-058 only an owner changes DLT registrations, and every member reads them', async () => {
    const entity = await dlt.entity()
    const header = await dlt.header({ entity })
    const made = { entities: entity, headers: header, templates: await dlt.template({ header }) }
    await leavesNoTrace(async () => {
      for (const who of [developer, member, viewer]) {
        for (const noun of ['entities', 'headers', 'templates'] as const) {
          expect((await who.ask('GET', `${at}/${noun}?id=${made[noun]}`)).status).toBe(200)
          const answers = [
            await who.ask('POST', `${at}/${noun}`, bodies(entity, header)[noun]),
            await who.ask('DELETE', `${at}/${noun}?id=${made[noun]}`),
          ]
          for (const { status, body } of answers)
            expect([status, body]).toEqual([403, { error: 'Owner role required' }])
        }
      }
    })
  })

  test('A-030 a DLT registration of another org cannot be reached or used', async () => {
    const theirs = dltClient(t, other)
    const entity = await theirs.entity()
    const header = await theirs.header({ entity })
    const template = await theirs.template({ header })
    const rows: [noun: string, table: string, id: string, kind: IdKind][] = [
      ['entities', 'dlt_entities', entity, 'dltEntity'],
      ['headers', 'dlt_headers', header, 'dltHeader'],
      ['templates', 'dlt_templates', template, 'dltTemplate'],
    ]
    for (const [noun, table, id, kind] of rows) {
      const foreign = { table, orgId: other.org.id, id, unknownId: newId(kind) }
      await expectOutOfReach(t, owner, foreign, (given) => [
        ['GET', `${at}/${noun}?id=${given}`],
        ['DELETE', `${at}/${noun}?id=${given}`],
      ])
    }
    for (const noun of ['headers', 'templates'] as const) {
      const reply = await leavesNoTrace(() => owner.ask('POST', `${at}/${noun}`, bodies(entity, header)[noun]))
      expect([noun, reply.status]).toEqual([noun, 422])
    }
  })
})
