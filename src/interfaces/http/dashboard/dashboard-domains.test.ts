import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { domainClient } from '../../../../test/clients/domain-client.ts'
import { type Member, person } from '../../../../test/clients/team-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { startTestService } from '../../../../test/service/service.ts'
import type { CreatedOrg } from '../../../app/operator/create-org.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())

const path = '/api/internal/domains'

let acme: CreatedOrg
let developer: Member

beforeEach(async () => {
  acme = await t.org()
  developer = await person(t, { orgId: acme.org.id, role: 'developer' })
})

const withEntries = <T>(work: () => Promise<T>) => withTrail(t.database, acme.org.id, work)
const entry = (action: string, id: string, metadata: object) =>
  expect.objectContaining({
    actor_user_id: developer.userId,
    action,
    resource_type: 'domain',
    resource_id: id,
    metadata,
  })
/** Names under .test are verified by the simulated provider at their first check. */
const added = async (name = 'shop.test', body: object = {}) => {
  const reply = await developer.ask('POST', path, { name, ...body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body
}
const check = (id: string) => developer.ask('PATCH', path, { id })

describe('adding and checking', () => {
  test('A-295 A-065 adds a domain with the records to publish, like the API', async () => {
    const { result, trail } = await withEntries(() => added('Mail.Example.com'))
    const { id } = result
    expect(result).toMatchObject({ name: 'mail.example.com', status: 'pending', region: 'us-east-1', tenant_id: null })
    expect(result).toEqual((await domainClient(t, acme).get(id)).body)
    expect(trail).toEqual([entry('domain.added', id, expect.objectContaining({ name: 'mail.example.com' }))])
    const again = await developer.ask('POST', path, { name: 'mail.example.com' })
    expect([again.status, again.body.code]).toEqual([409, 'DOMAIN_ALREADY_ADDED'])
    const reserved = await developer.ask('POST', path, { name: 'mail.tidings.test' })
    expect([reserved.status, reserved.body.code]).toEqual([422, 'DOMAIN_RESERVED'])
    const viewer = await person(t, { orgId: acme.org.id, role: 'viewer' })
    expect((await viewer.ask('GET', `${path}?limit=1`)).body.data).toEqual([result])
    expect((await viewer.ask('GET', `${path}?tenant_id=${newId('tenant')}`)).body.data).toEqual([])
  })

  test('A-296 checks a domain, ten times a minute over both surfaces', async () => {
    const { id } = await added()
    const { result, trail } = await withEntries(() => check(id))
    expect([result.status, result.body.status]).toEqual([200, 'verified'])
    expect(trail).toEqual([entry('domain.verified', id, { name: 'shop.test', dkim_status: 'SUCCESS' })])
    for (let n = 1; n < 10; n++) await domainClient(t, acme).verify(id)
    const refused = await check(id)
    expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
  })

  test('A-297 removes a domain', async () => {
    const { id } = await added()
    const { result, trail } = await withEntries(() => developer.ask('DELETE', `${path}?id=${id}`))
    expect([result.status, result.body]).toEqual([200, { id, deleted: true }])
    expect(trail).toEqual([entry('domain.removed', id, expect.objectContaining({ name: 'shop.test' }))])
    expect((await domainClient(t, acme).get(id)).status).toBe(404)
  })
})

describe('moving', () => {
  test('A-298 A-146 changes the region: new records, pending again, and the same region changes nothing', async () => {
    const { id } = await added()
    await check(id)
    const move = (region: string) => developer.ask('PATCH', `${path}/${id}/region`, { region })
    const { result, trail } = await withEntries(() => move('eu-west-1'))
    expect([result.status, result.body]).toEqual([
      200,
      expect.objectContaining({
        id,
        region: 'eu-west-1',
        status: 'pending',
        dkim_status: 'PENDING',
        verified_at: null,
        last_checked_at: null,
        ip_pool_id: null,
      }),
    ])
    const { records } = result.body
    expect(records.map(({ status }: { status: string }) => status)).toEqual(records.map(() => 'pending'))
    expect(records[1].value).toBe('feedback.eu-west-1.tidings.test')
    expect(trail).toEqual([entry('domain.region_updated', id, { old: 'us-east-1', new: 'eu-west-1' })])
    const repeated = await withEntries(() => move('eu-west-1'))
    expect([repeated.result.body, repeated.trail]).toEqual([result.body, []])
    expect((await check(id)).body).toMatchObject({ status: 'verified', region: 'eu-west-1' })
    expect((await move('mars')).status).toBe(422)
  })

  test('A-299 A-147 binds a domain to a tenant and frees it, and refuses a tenant that is not active', async () => {
    const { id } = await added()
    const tenantId = await t.tenant(acme.org.id)
    const bind = (tenant_id: string | null) => developer.ask('PATCH', `${path}/${id}/tenant`, { tenant_id })
    const { result, trail } = await withEntries(() => bind(tenantId))
    expect([result.status, result.body.tenant_id]).toEqual([200, tenantId])
    expect(trail).toEqual([entry('domain.tenant_rebound', id, { old: null, new: tenantId })])
    const unusable = await withEntries(async () => [
      await bind(await t.tenant(acme.org.id, { status: 'suspended' })),
      await bind(newId('tenant')),
      await bind(tenantId),
    ])
    expect(unusable.result.map(({ status, body }) => [status, body.code])).toEqual([
      [409, 'TENANT_NOT_USABLE'],
      [422, 'VALIDATION_ERROR'],
      [200, undefined],
    ])
    expect(unusable.trail).toEqual([])
    expect((await bind(null)).body.tenant_id).toBe(null)
  })
})

test('A-300 starts the warmup of a verified domain, whose cap then holds for sends', async () => {
  const { id } = await added()
  const start = (body?: object) => developer.ask('POST', `${path}/${id}/warmup`, body)
  const early = await start()
  expect([early.status, early.body.code]).toEqual([409, 'DOMAIN_NOT_VERIFIED'])
  await check(id)
  const { result, trail } = await withEntries(() => start())
  expect(result.body.warmup).toMatchObject({ status: 'active', days: 14, day: 0, daily_cap: 50, sent_today: 0 })
  expect(trail).toEqual([entry('domain.warmup_started', id, expect.objectContaining({ days: 14 }))])
  const again = await start({ days: 3 })
  expect([again.status, again.body.code]).toEqual([409, 'WARMUP_ALREADY_ACTIVE'])
  const to = Array.from({ length: 50 }, (_, n) => `reader${n}@example.com`)
  const send = (recipients: string[]) =>
    t.ask('POST', '/api/v1/emails', {
      key: acme.keys.live,
      body: { from: 'a@shop.test', to: recipients, subject: 'Hi', text: 'Hi' },
    })
  expect((await send(to)).status).toBe(200)
  const over = await send(['more@example.com'])
  expect([over.status, over.body.error.code]).toEqual([429, 'WARMUP_LIMIT_EXCEEDED'])
})

test('A-030 a domain of another org cannot be reached', async () => {
  const other = await t.org({ name: 'Other' })
  const id = await domainClient(t, other).added('theirs.test')
  await expectOutOfReach(
    t,
    developer,
    { table: 'domains', orgId: other.org.id, id, unknownId: newId('domain') },
    (dom) => [
      ['PATCH', path, { id: dom }],
      ['DELETE', `${path}?id=${dom}`],
      ['PATCH', `${path}/${dom}/region`, { region: 'eu-west-1' }],
      ['PATCH', `${path}/${dom}/tenant`, { tenant_id: null }],
      ['POST', `${path}/${dom}/warmup`],
    ],
  )
})
