/** Jobs through the dashboard. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { blastClient, email, readers } from '../../../../test/clients/blast-client.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const path = '/api/internal/jobs'
const idsOf = ({ body }: Reply): string[] => body.data.map(({ id }: { id: string }) => id)
const answer = ({ status, body }: Reply) => [status, body]

const own = await blastClient(t)
const tenantId = await t.tenant(own.orgId)
let developer: Member
let viewer: Member
let live: string
let tried: string
let ofTenant: string
beforeAll(async () => {
  developer = await person(t, { orgId: own.orgId, role: 'developer' })
  viewer = await person(t, { orgId: own.orgId, role: 'viewer' })
  const body = email(await own.template({ channel: 'email', subject: 'Hello', text: 'Dear {{name}}' }), {
    ramp_minutes: 10,
  })
  let made = 0
  const readersOf = (n: number) =>
    readers(n).map((_, i) => ({ name: 'Ann', email: `reader${++made}-${i}@reader.test` }))
  const send = async (members: number, key = own.live, tenant: string | null = null): Promise<string> =>
    (await own.sent(await own.audience(readersOf(members), tenant), body, { key })).job_id
  live = await send(2)
  tried = await send(1, own.test)
  ofTenant = await send(1, own.live, tenantId)
})

test('AD-166 lists the jobs of both environments, newest first, in the shape of the API', async () => {
  const reply = await viewer.ask('GET', path)
  const shown = async (id: string, key: string, environment: string) => ({
    ...(await own.job(id, key)).body,
    environment,
  })
  expect(answer(reply)).toEqual([
    200,
    {
      data: [
        await shown(ofTenant, own.live, 'live'),
        await shown(tried, own.test, 'test'),
        await shown(live, own.live, 'live'),
      ],
      has_more: false,
      next_cursor: null,
    },
  ])
  expect(answer(await viewer.ask('GET', `${path}/${tried}`))).toEqual([200, reply.body.data[1]])
})

test('AD-153 AD-166 lists jobs by environment and tenant, and in pages', async () => {
  const found = async (query: string) => idsOf(await viewer.ask('GET', `${path}?${query}`))
  expect(await found('environment=test')).toEqual([tried])
  expect(await found('environment=live')).toEqual([ofTenant, live])
  expect(await found(`tenant_id=${tenantId}`)).toEqual([ofTenant])
  expect(await found(`tenant_id=${tenantId}&environment=test`)).toEqual([])
  const first = await viewer.ask('GET', `${path}?limit=2`)
  expect(idsOf(first)).toEqual([ofTenant, tried])
  expect(await found(`limit=2&cursor=${first.body.next_cursor}`)).toEqual([live])
})

test('AD-166 AD-04 the job of another org is not found, and nothing changes', async () => {
  const stranger = await primaryOwner(t, (await t.org()).org.id)
  const foreign = { table: 'jobs', orgId: own.orgId, id: live, unknownId: newId('job') }
  await expectOutOfReach(t, stranger, foreign, (id) => [
    ['GET', `${path}/${id}`],
    ['POST', `${path}/${id}/cancel`],
  ])
  expect((await stranger.ask('GET', path)).body.data).toEqual([])
})

test.each(['live', 'test'] as const)(
  'AD-166 a developer cancels a %s job, under their own name',
  async (environment) => {
    const [id, canceled] = environment === 'live' ? [live, 2] : [tried, 1]
    const cancel = () => developer.ask('POST', `${path}/${id}/cancel`)
    const { result, trail } = await withTrail(t.database, own.orgId, cancel)
    expect(answer(result)).toEqual([200, { id, status: 'canceled', canceled }])
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'message.canceled',
        actor_user_id: developer.userId,
        resource_type: 'job',
        resource_id: id,
        metadata: { channel: 'email', count: canceled, environment },
      }),
    ])
    expect((await own.rows(id)).map(({ status }) => status)).toEqual(Array(canceled).fill('canceled'))
    expect(answer(await leavesNoTrace(cancel))).toEqual([200, { id, status: 'canceled', canceled: 0 }])
  },
)
