/** Messages that a member writes in the dashboard. */
import { afterAll, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { mail } from '../../../../test/clients/mailer.ts'
import { person } from '../../../../test/clients/team-client.ts'
import { tenantClient } from '../../../../test/clients/tenant-client.ts'
import { simulated, text, texter } from '../../../../test/clients/texter.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const own = await texter(t)
const developer = await person(t, { orgId: own.orgId, role: 'developer' })
const path = '/api/internal/messages/send'
const send = (body: object) => developer.ask('POST', path, body)
const answer = ({ status, body }: Reply) => [status, body]
const iso = expect.stringMatching(/^\d{4}-.*Z$/)

const rowOf = async (id: string) =>
  (
    await t.database.sql(
      'select channel, status, environment, tenant_id, key_id, subject, text, tags from messages where id = $1',
      [id],
    )
  )[0]

test('a developer sends an email as with the API, under their own name', async () => {
  const body = { channel: 'email', ...mail({ subject: 'From a person', tags: ['hand'] }) }
  const { result, trail } = await withTrail(t.database, own.orgId, () => send(body))
  const { id } = result.body
  expect(answer(result)).toEqual([200, { id, channel: 'email', status: 'sent', created_at: iso }])
  expect(await rowOf(id)).toEqual({
    channel: 'email',
    status: 'sent',
    environment: 'live',
    tenant_id: null,
    key_id: null,
    subject: 'From a person',
    text: 'Hello, Ada',
    tags: ['hand'],
  })
  expect((await own.handed(id)).subject).toBe('From a person')
  expect(trail).toEqual([
    expect.objectContaining({
      action: 'message.sent',
      actor_user_id: developer.userId,
      resource_type: 'message',
      resource_id: id,
      metadata: { channel: 'email', count: 1, environment: 'live' },
    }),
  ])
  expect((await own.used())['org live email']).toBe(1)
})

test('a text message goes out for a tenant, in the test environment, at a later time', async () => {
  const tenants = tenantClient(t, own)
  const tenantId = await tenants.made()
  const body = {
    channel: 'sms',
    environment: 'test',
    tenant_id: tenantId,
    ...text({ scheduled_at: own.inSeconds(60) }),
  }
  const sent = await send(body)
  expect([sent.status, sent.body]).toEqual([
    200,
    {
      id: expect.stringMatching(/^msg_/),
      channel: 'sms',
      status: 'scheduled',
      segments: 1,
      created_at: iso,
      scheduled_at: iso,
    },
  ])
  expect(await rowOf(sent.body.id)).toMatchObject({ channel: 'sms', environment: 'test', tenant_id: tenantId })
  await tenants.move('suspend', tenantId)
  const refused = await leavesNoTrace(() => send(body))
  expect([refused.status, refused.body.code]).toEqual([409, 'TENANT_NOT_USABLE'])
  const nowhere = await leavesNoTrace(() => send({ ...body, tenant_id: newId('tenant') }))
  expect(answer(nowhere)).toEqual([404, { error: 'Not found' }])
})

test('the checks of the API apply, with their codes', async () => {
  await own.suppress('gone@example.com', 'manual', null, 'email')
  await own.geo('GB')
  const refusals = [
    [{ channel: 'email', ...mail({ from: 'x@unverified.example' }) }, 403, 'SENDER_DOMAIN_NOT_VERIFIED'],
    [{ channel: 'email', ...mail({ to: ['gone@example.com'] }) }, 422, 'ALL_SUPPRESSED'],
    [{ channel: 'sms', ...text() }, 403, 'SMS_DESTINATION_NOT_ALLOWED'],
    [{ channel: 'sms', ...text({ media_url: ['https://x'] }) }, 422, 'MMS_INVALID_MEDIA_URI'],
    [{ channel: 'email', ...mail({ scheduled_at: '2020-01-01T00:00:00Z' }) }, 422, 'SCHEDULED_AT_IN_PAST'],
  ] as const
  for (const [body, status, code] of refusals) {
    const reply = await leavesNoTrace(() => send(body))
    expect([reply.status, reply.body.code], code).toEqual([status, code])
  }
  await own.geo(null)
})

test('an invalid message is 422 at the field', async () => {
  const fields = async (body: object): Promise<unknown> => {
    const reply = await leavesNoTrace(() => send(body))
    expect([reply.status, reply.body.code]).toEqual([422, 'VALIDATION_ERROR'])
    return reply.body.errors.map(({ path: at }: { path: unknown[] }) => at.join('.'))
  }
  expect(await fields(mail())).toEqual(['channel'])
  expect(await fields({ channel: 'fax', ...mail() })).toEqual(['channel'])
  expect(await fields({ channel: 'email', environment: 'moon', ...mail() })).toEqual(['environment'])
  expect(await fields({ channel: 'email', ...mail({ to: ['nobody'] }) })).toEqual(['to.0'])
  expect(await fields({ channel: 'sms', ...mail() })).toEqual(['subject', 'text', 'from', 'from', 'to'])
})

test('a message that the provider refuses is recorded as failed, and the person sees the reason', async () => {
  const reply = await send({ channel: 'sms', ...text({ to: simulated.refused }) })
  const { message_id: id, error } = reply.body
  expect(answer(reply)).toEqual([502, { error, code: 'PROVIDER_ERROR', message_id: id }])
  const rows = await t.database.sql('select status, error_message from messages where id = $1', [id])
  expect(rows).toEqual([{ status: 'failed', error_message: error }])
})
