/** Brands and campaigns through the dashboard. */
import { afterAll, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { campaignOf, completeBrand, senderClient, setRegistry } from '../../../test/clients/sender-client.ts'
import { person, primaryOwner } from '../../../test/clients/team-client.ts'
import { watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const brands = '/api/internal/brands'

test('S-276 AD-125 AD-159 an empty patch asks the registry and records a change under the name of the user', async () => {
  const { org } = await t.org()
  const developer = await person(t, { orgId: org.id, role: 'developer' })
  const { id } = (await developer.ask('POST', brands, completeBrand)).body
  await setRegistry(t, id, 'approved')
  const { result, trail } = await withTrail(t.database, org.id, () => developer.ask('PATCH', `${brands}?id=${id}`))
  expect([result.status, result.body.status]).toEqual([200, 'verified'])
  expect(trail.map(({ action, actor_user_id }) => [action, actor_user_id])).toEqual([
    ['brand.verified', developer.userId],
  ])
  const again = await leavesNoTrace(() => developer.ask('PATCH', `${brands}?id=${id}`, {}))
  expect([again.status, again.body]).toEqual([200, result.body])
  const misspelled = await leavesNoTrace(() => developer.ask('PATCH', `${brands}?id=${id}`, { stret: 'x' }))
  expect([misspelled.status, misspelled.body.code]).toEqual([422, 'VALIDATION_ERROR'])
  const campaign = await developer.ask('POST', '/api/internal/campaigns', campaignOf(id))
  expect(campaign.status).toBe(201)
  await setRegistry(t, campaign.body.id, 'approved')
  const checked = await developer.ask('PATCH', `/api/internal/campaigns?id=${campaign.body.id}`)
  expect([checked.status, checked.body.status]).toEqual([200, 'verified'])
})

test('A-358 AD-161 the eleventh registration in an hour over both surfaces is 429 without a code', async () => {
  const acme = await t.org()
  const owner = await primaryOwner(t, acme.org.id)
  for (let i = 0; i < 9; i++) await senderClient(t, acme).made('brands', completeBrand)
  expect((await owner.ask('POST', brands, completeBrand)).status).toBe(201)
  const reply = await leavesNoTrace(() => owner.ask('POST', brands, completeBrand))
  expect([reply.status, reply.body]).toEqual([429, { error: 'Provisioning limit reached: 10 per hour' }])
})
