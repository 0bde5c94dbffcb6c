/** Erasing the messages of a tenant. */
import { expect, test } from 'vitest'
import { insertScheduled, postOf } from '../../../test/clients/post-client.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { sharedTestService } from '../../../test/service/service.ts'
import { tagMark } from './marks.ts'

const t = await sharedTestService()
const created = await t.org()
const orgId = created.org.id
const post = postOf(t, created)
const tenants = tenantClient(t, created)

test('A-262 a message of a tenant is visible to the tenant and the org, and not to other tenants', async () => {
  const [own, other] = [await tenants.made(), await tenants.made()]
  const [ownKey, otherKey] = [await t.key(orgId, { tenantId: own }), await t.key(orgId, { tenantId: other })]
  const id = await post.sent({}, ownKey)
  for (const key of [ownKey, created.keys.live]) expect((await post.get(id, '', key)).body.tenant_id).toBe(own)
  expectRefusal(await post.get(id, '', otherKey), 'NOT_FOUND')
  expect((await post.list('', otherKey)).body.data).toEqual([])
  expect((await post.list('', ownKey)).body.data).toMatchObject([{ id }])
})

test('A-262 A-283 AD-107 erasing a tenant redacts content and addresses, deletes message events, and reports both counts', async () => {
  const [erasedId, otherId] = [await tenants.made(), await tenants.made()]
  const content = {
    to: ['Ann <ann@private.test>'],
    cc: ['cc@private.test'],
    bcc: ['bcc@private.test'],
    reply_to: ['re@private.test'],
    html: '<p>private</p>',
    text: 'private',
    subject: 'private',
    headers: { 'X-Private': 'private' },
    metadata: { who: 'private' },
    tags: ['kept'],
    attachments: [{ filename: 'private.txt', content: 'aGk=' }],
  }
  const sendFor = async (tenantId: string) => post.sent(content, await t.key(orgId, { tenantId }))
  const ids = [await sendFor(erasedId), await sendFor(erasedId)]
  const kept = await sendFor(otherId)
  for (const id of [...ids, kept]) await post.notify(id, 'soft_bounce')
  const keptBefore = (await post.get(kept, '?include=body')).body
  await tenants.move('archive', erasedId)
  const { body } = await tenants.move('erase', erasedId)
  const counts = { messages_redacted: 2, message_events_deleted: 6, contacts_deleted: 0, inbound_deleted: 0 }
  expect(body).toMatchObject({ status: 'erased', ...counts })
  for (const id of ids) {
    const shown = await post.get(id, '?include=body')
    expect(shown.status).toBe(200)
    expect(shown.body).toMatchObject({
      status: 'bounced',
      to: [],
      cc: [],
      bcc: [],
      reply_to: [],
      subject: null,
      from_name: null,
      html: null,
      text: null,
      headers: {},
      attachments: [],
      metadata: {},
      error_message: null,
      redacted_at: expect.any(String),
      provider_response: null,
    })
    const stored = await t.database.sql('select m::text as stored from messages m where id = $1', [id])
    expect(JSON.stringify(stored)).not.toMatch(/private/)
    const marked = await t.database.sql('select marks from messages where id = $1', [id])
    expect(marked).toEqual([{ marks: [tagMark(orgId, 'kept')] }])
  }
  expect((await post.list('?tag=kept')).body.data.map(({ to }: { to: string | null }) => to)).toEqual([
    'ann@private.test',
    null,
    null,
  ])
  expect(await t.database.sql('select distinct tenant_id from message_events where org_id = $1', [orgId])).toEqual([
    { tenant_id: otherId },
  ])
  expect((await post.get(kept, '?include=body')).body).toEqual(keptBefore)
  const events = await t.database.sql("select data from events where org_id = $1 and event = 'tenant.erased'", [orgId])
  expect(events).toEqual([{ data: { tenant_id: erasedId, external_ref: null, ...counts } }])
})

test('AD-107 erasing more messages than one chunk counts each once, and scheduled ones are canceled first', async () => {
  const tenantId = await tenants.made()
  const dueAt = new Date(t.service.clock.millis() + 3_600_000)
  await insertScheduled(t, 1_234, { orgId, dueAt, tenantId })
  await tenants.move('archive', tenantId)
  const erased = await Promise.all([tenants.move('erase', tenantId), tenants.move('erase', tenantId)])
  for (const { body } of erased) expect(body).toMatchObject({ status: 'erased', messages_redacted: 1_234 })
  const left = await t.database.sql('select status, count(*)::int as n from messages where tenant_id = $1 group by 1', [
    tenantId,
  ])
  expect(left).toEqual([{ status: 'canceled', n: 1_234 }])
})
