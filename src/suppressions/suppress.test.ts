import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../test/service/service.ts'
import { newId } from '../ground/ids.ts'
import type { CreatedOrg } from '../operator/create-org.ts'
import type { SuppressionRow } from './store.ts'
import type { Cause } from './suppress.ts'

let t: TestService
let acme: CreatedOrg
beforeAll(async () => {
  t = await startTestService()
  acme = await t.org()
})
afterAll(() => t.stop())

type Reason = SuppressionRow['reason']
const reasons: Reason[] = ['unsubscribe', 'bounce', 'manual', 'complaint', 'stop']
const causeOf = (reason: Reason, value: string, more: Partial<Cause> = {}): Cause => ({
  orgId: acme.org.id,
  tenantId: null,
  channel: 'email',
  value,
  reason,
  source: 'provider',
  messageId: null,
  environment: 'live',
  ...more,
})
const suppress = (cause: Cause) => t.service.db.tx((tx) => t.service.modules.suppress(tx, cause))
const rowsFor = (value: string) =>
  t.database.sql('select id, tenant_id, reason, source, message_id from suppressions where value = $1', [value])

const strength: Record<Reason, number> = { unsubscribe: 1, bounce: 2, manual: 2, complaint: 3, stop: 3 }
const pairs = reasons.flatMap((first) => reasons.map((then) => [first, then] as const))

test.for(pairs)('X-303 XD-22 SD-65 after %s comes %s: only the stronger cause replaces', async ([first, then]) => {
  const value = `${newId('request')}@example.com`
  const messageId = newId('message')
  const made = await suppress(causeOf(first, value))
  expect(made).toEqual({ id: expect.stringMatching(/^sup_/), changed: true, reason: first })
  const replaced = strength[then] > strength[first]
  const again = await suppress(causeOf(then, value.toUpperCase(), { source: 'sms_reply', messageId }))
  // An unsubscribe that does not replace is remembered.
  const changed = replaced || (then === 'unsubscribe' && first !== 'unsubscribe')
  expect(again).toEqual({ id: made.id, changed, reason: replaced ? then : first })
  expect(await rowsFor(value)).toEqual([
    replaced
      ? { id: made.id, tenant_id: null, reason: then, source: 'sms_reply', message_id: messageId }
      : { id: made.id, tenant_id: null, reason: first, source: 'provider', message_id: null },
  ])
})

const madeFor = (value: string) =>
  t.database.sql('select reason, source, message_id, created_environment as made from suppressions where value = $1', [
    value,
  ])

test.for(pairs)(
  'XD-10 X-082 SD-65 over a simulated %s a live %s takes over where it is as strong',
  async ([first, then]) => {
    const value = `${newId('request')}@example.com`
    const messageId = newId('message')
    const made = await suppress(causeOf(first, value, { environment: 'test', source: 'api' }))
    const over = strength[then] >= strength[first]
    const again = await suppress(causeOf(then, value, { messageId }))
    expect(again).toMatchObject({ id: made.id, reason: over ? then : first })
    expect(await madeFor(value)).toEqual([
      over
        ? { reason: then, source: 'provider', message_id: messageId, made: 'live' }
        : { reason: first, source: 'api', message_id: null, made: 'test' },
    ])
  },
)

test('XD-10 X-082 a hard bounce takes a manual row of a test key over, which may then not remove it', async () => {
  const target = { channel: 'email', value: `${newId('request')}@example.com` }
  const ask = (method: string, path: string, key: string, body?: unknown) =>
    t.ask(method, `/api/v1/suppressions${path}`, { key, ...(body !== undefined && { body }) })
  const { id, created_at } = (await ask('POST', '', acme.keys.test, target)).body
  const messageId = newId('message')
  expect(await suppress(causeOf('bounce', target.value, { messageId }))).toEqual({
    id,
    changed: true,
    reason: 'bounce',
  })
  const refused = await ask('DELETE', `/${id}`, acme.keys.test)
  expect([refused.status, refused.body.error.code]).toEqual([403, 'ENVIRONMENT_ESCALATION'])
  expect((await ask('GET', `/${id}`, acme.keys.live)).body).toMatchObject({
    id,
    reason: 'bounce',
    scope: 'all',
    source: 'provider',
    message_id: messageId,
    created_at,
  })
  expect((await ask('DELETE', `/${id}`, acme.keys.live)).status).toBe(200)
})

test('XD-10 what is simulated takes nothing over from what is live', async () => {
  const value = `${newId('request')}@example.com`
  await suppress(causeOf('manual', value, { source: 'api' }))
  expect(await suppress(causeOf('bounce', value, { environment: 'test' }))).toMatchObject({ changed: false })
  expect(await madeFor(value)).toEqual([{ reason: 'manual', source: 'api', message_id: null, made: 'live' }])
})

test('XD-22 a tenant and its org each have a row of their own', async () => {
  const value = `${newId('request')}@example.com`
  const tenantId = await t.tenant(acme.org.id)
  await suppress(causeOf('complaint', value))
  expect(await suppress(causeOf('unsubscribe', value, { tenantId }))).toMatchObject({ changed: true })
  expect(await rowsFor(value)).toHaveLength(2)
})

test('XD-22 whatever comes at once, one row stands, for the strongest cause', async () => {
  const value = `${newId('request')}@example.com`
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, i) => suppress(causeOf(reasons[i % 4] as Reason, value))),
  )
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
  expect(await rowsFor(value)).toMatchObject([{ reason: 'complaint' }])
  const taken = (cause: Reason) => answers.filter(({ changed }, i) => changed && reasons[i % 4] === cause)
  expect([taken('complaint').length, taken('unsubscribe').length]).toEqual([1, 1])
})
