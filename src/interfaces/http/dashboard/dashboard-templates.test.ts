/** Templates through the dashboard: the list, changes, previews and test sends. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { tenantClient } from '../../../../test/clients/tenant-client.ts'
import { simulated, texter } from '../../../../test/clients/texter.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { iso } from '../../../../test/expect/instants.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const own = await texter(t)
const { orgId } = own
const developer = await person(t, { orgId, role: 'developer' })
const member = await person(t, { orgId, role: 'member' })
const viewer = await person(t, { orgId, role: 'viewer' })
const stranger = await primaryOwner(t, (await t.org()).org.id)

const path = '/api/internal/templates'
const notFound = [404, { error: 'Not found' }]
const answer = ({ status, body }: Reply) => [status, body]
const idsOf = ({ body }: Reply): string[] => body.data.map(({ id }: { id: string }) => id)

let made = 0
const templateOf = async (body: object = {}): Promise<string> => {
  const slug = `welcome-${++made}`
  const given = { slug, channel: 'email', subject: 'Hello, {{name}}', html: '<p>{{name}}</p>', ...body }
  const reply = await developer.ask('POST', path, given)
  expect(reply.status, reply.text).toBe(201)
  return reply.body.id
}

const written = (action: string, id: string, userId: string, metadata: object, type = 'template') =>
  expect.objectContaining({ action, actor_user_id: userId, resource_type: type, resource_id: id, metadata })

describe('templates', () => {
  test('S-330 A-061 a developer creates, changes and removes a template, under their own name', async () => {
    const body = { slug: 'order', channel: 'email', subject: 'Order {{n}}', html: '<b>{{n}}</b>', text: 'Order {{n}}' }
    const { result: created, trail } = await withTrail(t.database, orgId, () => developer.ask('POST', path, body))
    const { id } = created.body
    const template = { id, ...body, tenant_id: null, created_at: iso, updated_at: iso }
    expect(answer(created)).toEqual([201, template])
    const about = { slug: 'order', channel: 'email' }
    expect(trail).toEqual([written('template.created', id, developer.userId, about)])
    expect(answer(await viewer.ask('GET', `${path}?id=${id}`))).toEqual([200, created.body])

    const patched = await withTrail(t.database, orgId, () => developer.ask('PATCH', `${path}?id=${id}`, { html: null }))
    expect(answer(patched.result)).toEqual([200, { ...created.body, html: null, updated_at: iso }])
    expect(patched.trail).toEqual([written('template.updated', id, developer.userId, about)])

    const removed = await withTrail(t.database, orgId, () => developer.ask('DELETE', `${path}?id=${id}`))
    expect(answer(removed.result)).toEqual([200, { id, deleted: true }])
    expect(removed.trail).toEqual([written('template.removed', id, developer.userId, about)])
    expect(answer(await developer.ask('GET', `${path}?id=${id}`))).toEqual(notFound)
  })

  test('S-331 a slug that the org uses already is 409, on create and on change', async () => {
    await templateOf({ slug: 'taken' })
    const id = await templateOf()
    const taken = [409, expect.objectContaining({ code: 'TEMPLATE_SLUG_TAKEN' })]
    const body = { slug: 'taken', channel: 'sms', text: 'Hi' }
    expect(answer(await leavesNoTrace(() => developer.ask('POST', path, body)))).toEqual(taken)
    const patch = () => developer.ask('PATCH', `${path}?id=${id}`, { slug: 'taken' })
    expect(answer(await leavesNoTrace(patch))).toEqual(taken)
  })

  test('S-332 AD-153 lists all templates, newest first, by channel and tenant', async () => {
    const { made: tenant } = tenantClient(t, own)
    const tenantId = await tenant()
    const before = idsOf(await viewer.ask('GET', path))
    const email = await templateOf()
    const sms = await templateOf({ channel: 'sms', subject: null, html: null, text: 'Hi' })
    const ofTenant = await templateOf({ tenant_id: tenantId })
    expect(idsOf(await viewer.ask('GET', path))).toEqual([ofTenant, sms, email, ...before])
    expect(idsOf(await viewer.ask('GET', `${path}?channel=sms`))).toEqual([sms])
    expect(idsOf(await viewer.ask('GET', `${path}?tenant_id=${tenantId}`))).toEqual([ofTenant])
    const first = await viewer.ask('GET', `${path}?limit=2`)
    expect(idsOf(first)).toEqual([ofTenant, sms])
    expect(idsOf(await viewer.ask('GET', `${path}?limit=1&cursor=${first.body.next_cursor}`))).toEqual([email])
    const nowhere = { slug: 'nowhere', channel: 'sms', text: 'Hi', tenant_id: newId('tenant') }
    expect(answer(await leavesNoTrace(() => developer.ask('POST', path, nowhere)))).toEqual(notFound)
  })

  test('S-337 A-061 a member and a viewer may not create, change or remove a template', async () => {
    const id = await templateOf()
    const refused = [403, { error: 'Developer or owner role required' }]
    for (const who of [member, viewer]) {
      for (const [method, at] of [
        ['POST', path],
        ['PATCH', `${path}?id=${id}`],
        ['DELETE', `${path}?id=${id}`],
      ] as const) {
        expect(answer(await leavesNoTrace(() => who.ask(method, at, { subject: 'No' })))).toEqual(refused)
      }
    }
  })

  test('an incomplete template, a change without fields and a missing id are 422', async () => {
    const id = await templateOf()
    const create = await developer.ask('POST', path, { slug: 'half', channel: 'email', subject: 'Hi' })
    expect([create.status, create.body.errors[0].path]).toEqual([422, ['html']])
    const empty = await developer.ask('PATCH', `${path}?id=${id}`, {})
    expect([empty.status, empty.body.code]).toEqual([422, 'NO_FIELDS'])
    expect((await developer.ask('DELETE', path)).status).toBe(422)
  })

  test('S-336 AD-04 the template of another org is not found, and nothing changes', async () => {
    const foreign = { table: 'templates', orgId, id: await templateOf(), unknownId: newId('template') }
    const sending = { from: 'hello@example.test', to: 'ada@example.com', variables: { name: 'Ada' } }
    await expectOutOfReach(t, stranger, foreign, (id) => [
      ['GET', `${path}?id=${id}`],
      ['PATCH', `${path}?id=${id}`, { subject: 'Mine' }],
      ['DELETE', `${path}?id=${id}`],
      ['POST', `${path}/preview`, { id, variables: { name: 'Ada' } }],
      ['POST', `${path}/test-send`, { id, ...sending }],
    ])
    expect((await stranger.ask('GET', path)).body.data).toEqual([])
  })
})

describe('a preview', () => {
  test('S-333 S-337 shows the template of an id or a slug with its variables, to every member', async () => {
    const id = await templateOf({ slug: 'greeting' })
    const shown = {
      id,
      slug: 'greeting',
      channel: 'email',
      subject: 'Hello, Ada & Co',
      html: '<p>Ada &amp; Co</p>',
      text: null,
      warnings: [],
    }
    for (const name of [{ id }, { slug: 'greeting' }]) {
      const preview = () => viewer.ask('POST', `${path}/preview`, { ...name, variables: { name: 'Ada & Co' } })
      expect(answer(await leavesNoTrace(preview))).toEqual([200, shown])
    }
    const missing = await viewer.ask('POST', `${path}/preview`, { id })
    expect([missing.status, missing.body.code]).toEqual([422, 'TEMPLATE_MISSING_VARIABLES'])
  })

  test('shows parts that are not saved, with their warnings, and neither saves nor sends them', async () => {
    const id = await templateOf({ slug: 'unsaved', text: 'Bye, {{name}}' })
    const variables = { name: 'Ada' }
    const preview = (parts: object) => viewer.ask('POST', `${path}/preview`, { id, variables, ...parts })
    const changed = await leavesNoTrace(() => preview({ html: '<i>{{name}}</i>\n{{! no }}', text: null }))
    const warning = {
      field: 'html',
      line: 2,
      column: 1,
      code: 'comment',
      message: expect.stringContaining('{{! no }}'),
    }
    const shown = { id, slug: 'unsaved', channel: 'email', subject: 'Hello, Ada', text: null }
    expect(answer(changed)).toEqual([200, { ...shown, html: '<i>Ada</i>\n{{! no }}', warnings: [warning] }])
    const saved = [200, { ...shown, html: '<p>Ada</p>', text: 'Bye, Ada', warnings: [] }]
    expect(answer(await preview({}))).toEqual(saved)
    const tooLong = await preview({ subject: 'x'.repeat(999) })
    expect([tooLong.status, tooLong.body.errors[0].path]).toEqual([422, ['subject']])
  })

  test('R-27 stays open while the org is suspended', async () => {
    const suspended = await texter(t)
    const owner = await primaryOwner(t, suspended.orgId)
    const { body } = await owner.ask('POST', path, { slug: 'still', channel: 'sms', text: 'Hi' })
    await t.database.sql('update orgs set suspended_at = created_at where id = $1', [suspended.orgId])
    const reply = await owner.ask('POST', `${path}/preview`, { id: body.id })
    expect([reply.status, reply.body.text]).toEqual([200, 'Hi'])
    const sending = { id: body.id, from: 'TIDINGS', to: '+15125550100' }
    const refused = await owner.ask('POST', `${path}/test-send`, sending)
    expect([refused.status, refused.body.code]).toEqual([403, 'ORG_SUSPENDED'])
  })
})

describe('a test send', () => {
  let email: string
  let sms: string
  beforeAll(async () => {
    email = await templateOf()
    sms = await templateOf({ channel: 'sms', subject: null, html: null, text: 'Hi, {{name}}' })
  })
  const variables = { name: 'Ada' }
  const byEmail = (more: object = {}, who = member) =>
    who.ask('POST', `${path}/test-send`, {
      id: email,
      from: 'hello@example.test',
      to: 'ada@example.com',
      variables,
      ...more,
    })
  const bySms = (more: object = {}, who = member) =>
    who.ask('POST', `${path}/test-send`, { id: sms, from: 'TIDINGS', to: '+15125550100', variables, ...more })
  const rowOf = async (id: string) =>
    (
      await t.database.sql(
        `select status, environment, channel, from_address, to_addresses, subject, html, text, tags, metadata, key_id,
           tenant_id
         from messages where id = $1`,
        [id],
      )
    )[0]

  test('S-334 S-338 A-039 AD-96 a member sends the rendered template, marked as a test', async () => {
    const { result, trail } = await withTrail(t.database, orgId, () => byEmail())
    const { id } = result.body
    expect(answer(result)).toEqual([200, { id: expect.stringMatching(/^msg_/), status: 'sent' }])
    expect(await rowOf(id)).toEqual({
      status: 'sent',
      environment: 'live',
      channel: 'email',
      from_address: 'hello@example.test',
      to_addresses: ['ada@example.com'],
      subject: 'Hello, Ada',
      html: '<p>Ada</p>',
      text: null,
      tags: ['template-test'],
      metadata: { source: 'test_send' },
      key_id: null,
      tenant_id: null,
    })
    expect((await own.handed(id)).subject).toBe('Hello, Ada')
    const about = { channel: 'email', count: 1, environment: 'live' }
    expect(trail).toEqual([written('message.sent', id, member.userId, about, 'message')])
  })

  test('S-334 S-338 sends an SMS template, to one number', async () => {
    const reply = await bySms()
    expect(answer(reply)).toEqual([200, { id: expect.stringMatching(/^msg_/), status: 'sent' }])
    expect(await rowOf(reply.body.id)).toMatchObject({
      channel: 'sms',
      text: 'Hi, Ada',
      tags: ['template-test'],
      metadata: { source: 'test_send' },
    })
    const two = await leavesNoTrace(() => bySms({ to: ['+15125550100', '+15125550101'] }))
    expect([two.status, two.body.errors[0].path]).toEqual([422, ['to']])
  })

  test('S-337 A-039 A-040 a viewer may not send a test', async () => {
    const refused = [403, { error: 'Write access required' }]
    expect(answer(await leavesNoTrace(() => byEmail({}, viewer)))).toEqual(refused)
    expect((await byEmail({}, developer)).status).toBe(200)
  })

  test('S-335 R-09 a test that the provider refuses is 502 with the words of the provider', async () => {
    const reply = await bySms({ to: simulated.refused })
    const [row] = await t.database.sql<{ id: string; status: string; error_message: string }>(
      `select id, status, error_message from messages where org_id = $1 and to_addresses = array[$2]`,
      [orgId, simulated.refused],
    )
    expect(row).toMatchObject({ status: 'failed', error_message: expect.stringMatching(/refused/i) })
    expect(answer(reply)).toEqual([502, { error: row?.error_message, code: 'PROVIDER_ERROR', message_id: row?.id }])
  })

  test('S-216 an SMS test goes only to the countries that the org allows', async () => {
    const reader = await texter(t)
    const owner = await primaryOwner(t, reader.orgId)
    const { body } = await owner.ask('POST', path, { slug: 'code', channel: 'sms', text: 'Hi' })
    await reader.geo('DE')
    const sending = { id: body.id, from: 'TIDINGS', to: '+15125550100' }
    const refused = await leavesNoTrace(() => owner.ask('POST', `${path}/test-send`, sending))
    expect([refused.status, refused.body.code]).toEqual([403, 'SMS_DESTINATION_NOT_ALLOWED'])
  })

  test('S-104 counts for the daily volume of the sandbox, which refuses the next one', async () => {
    const other = await texter(t)
    const owner = await primaryOwner(t, other.orgId)
    const given = { slug: 'hello', channel: 'email', subject: 'Hi', text: 'Hi' }
    const { body } = await owner.ask('POST', path, given)
    const send = () => owner.ask('POST', `${path}/test-send`, { id: body.id, from: other.sandbox, to: [owner.email] })
    expect((await send()).status).toBe(200)
    expect((await other.used())['org live sandbox']).toBe(1)
    await t.database.sql("update usage_counters set used = 100 where org_id = $1 and measure = 'sandbox'", [
      other.orgId,
    ])
    t.service.modules.usage.forgetOrg(other.orgId)
    const refused = await send()
    expect([refused.status, refused.body.code]).toEqual([429, 'SANDBOX_DAILY_LIMIT'])
    const outsider = { id: body.id, from: other.sandbox, to: 'nobody@example.com' }
    const foreign = await owner.ask('POST', `${path}/test-send`, outsider)
    expect([foreign.status, foreign.body.code]).toEqual([403, 'SANDBOX_RECIPIENT_NOT_ALLOWED'])
  })

  test("a tenant's template is sent for the tenant, unless the tenant is suspended", async () => {
    const tenants = tenantClient(t, own)
    const tenantId = await tenants.made()
    const id = await templateOf({ tenant_id: tenantId })
    const sent = await byEmail({ id })
    expect(await rowOf(sent.body.id)).toMatchObject({ tenant_id: tenantId })
    await tenants.move('suspend', tenantId)
    const refused = await leavesNoTrace(() => byEmail({ id }))
    expect([refused.status, refused.body.code]).toEqual([409, 'TENANT_NOT_USABLE'])
  })
})
