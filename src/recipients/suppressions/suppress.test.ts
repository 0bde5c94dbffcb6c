import { beforeAll, expect, test } from 'vitest'
import { sharedTestService, type TestService } from '../../../test/service/service.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { SuppressionRow } from './store.ts'
import type { Cause } from './suppress.ts'

let t: TestService
let acme: CreatedOrg
beforeAll(async () => {
  t = await sharedTestService()
  acme = await t.org()
})

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
const rowsOf = (value: string) =>
  t.database.sql('select id, tenant_id, reason, source, message_id from suppressions where value = $1', [value])

const strength: Record<Reason, number> = { unsubscribe: 1, bounce: 2, manual: 2, complaint: 3, stop: 3 }
const pairs = reasons.flatMap((first) => reasons.map((second) => [first, second] as const))

test.for(pairs)(
  'X-303 XD-22 SD-65 a %s that is followed by a %s is replaced only by a stronger cause',
  async ([first, second]) => {
    const value = `${newId('request')}@example.com`
    const messageId = newId('message')
    const created = await suppress(causeOf(first, value))
    expect(created).toMatchObject({ id: expect.stringMatching(/^sup_/), changed: true, reason: first })
    const replaced = strength[second] > strength[first]
    const again = await suppress(causeOf(second, value.toUpperCase(), { source: 'sms_reply', messageId }))
    // An unsubscribe that does not replace the cause is still stored.
    const changed = replaced || (second === 'unsubscribe' && first !== 'unsubscribe')
    expect(again).toEqual({ ...created, changed, reason: replaced ? second : first })
    expect(await rowsOf(value)).toEqual([
      replaced
        ? { id: created.id, tenant_id: null, reason: second, source: 'sms_reply', message_id: messageId }
        : { id: created.id, tenant_id: null, reason: first, source: 'provider', message_id: null },
    ])
  },
)

const causesOf = (value: string) =>
  t.database.sql('select reason, source, message_id, created_environment from suppressions where value = $1', [value])

test.for(pairs)(
  'XD-10 X-082 SD-65 a simulated %s is replaced by a live %s of at least the same strength',
  async ([first, second]) => {
    const value = `${newId('request')}@example.com`
    const messageId = newId('message')
    const created = await suppress(causeOf(first, value, { environment: 'test', source: 'api' }))
    const replaced = strength[second] >= strength[first]
    const again = await suppress(causeOf(second, value, { messageId }))
    expect(again).toMatchObject({ id: created.id, reason: replaced ? second : first })
    expect(await causesOf(value)).toEqual([
      replaced
        ? { reason: second, source: 'provider', message_id: messageId, created_environment: 'live' }
        : { reason: first, source: 'api', message_id: null, created_environment: 'test' },
    ])
  },
)

test('XD-10 X-082 a hard bounce replaces a manual suppression of a test key, which then cannot remove it', async () => {
  const target = { channel: 'email', value: `${newId('request')}@example.com` }
  const request = (method: string, path: string, key: string, body?: unknown) =>
    t.ask(method, `/api/v1/suppressions${path}`, { key, ...(body !== undefined && { body }) })
  const { id, created_at } = (await request('POST', '', acme.keys.test, target)).body
  const messageId = newId('message')
  expect(await suppress(causeOf('bounce', target.value, { messageId }))).toEqual({
    id,
    changed: true,
    reason: 'bounce',
    createdAt: new Date(created_at),
  })
  const rejected = await request('DELETE', `/${id}`, acme.keys.test)
  expect([rejected.status, rejected.body.error.code]).toEqual([403, 'ENVIRONMENT_ESCALATION'])
  expect((await request('GET', `/${id}`, acme.keys.live)).body).toMatchObject({
    id,
    reason: 'bounce',
    scope: 'all',
    source: 'provider',
    message_id: messageId,
    created_at,
  })
  expect((await request('DELETE', `/${id}`, acme.keys.live)).status).toBe(200)
})

test('XD-10 a simulated cause never replaces a live one', async () => {
  const value = `${newId('request')}@example.com`
  await suppress(causeOf('manual', value, { source: 'api' }))
  expect(await suppress(causeOf('bounce', value, { environment: 'test' }))).toMatchObject({ changed: false })
  expect(await causesOf(value)).toEqual([
    { reason: 'manual', source: 'api', message_id: null, created_environment: 'live' },
  ])
})

test('XD-22 a tenant and its org have separate rows', async () => {
  const value = `${newId('request')}@example.com`
  const tenantId = await t.tenant(acme.org.id)
  await suppress(causeOf('complaint', value))
  expect(await suppress(causeOf('unsubscribe', value, { tenantId }))).toMatchObject({ changed: true })
  expect(await rowsOf(value)).toHaveLength(2)
})

test('XD-22 concurrent causes leave one row with the strongest cause', async () => {
  const value = `${newId('request')}@example.com`
  const results = await Promise.all(
    Array.from({ length: 30 }, (_, i) => suppress(causeOf(reasons[i % 4] as Reason, value))),
  )
  expect(new Set(results.map(({ id }) => id)).size).toBe(1)
  expect(await rowsOf(value)).toMatchObject([{ reason: 'complaint' }])
  const changedBy = (cause: Reason) => results.filter(({ changed }, i) => changed && reasons[i % 4] === cause)
  expect([changedBy('complaint').length, changedBy('unsubscribe').length]).toEqual([1, 1])
})
