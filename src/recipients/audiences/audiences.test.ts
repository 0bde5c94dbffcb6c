import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { audienceClient } from '../../../test/clients/audience-client.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { iso, tick } from '../../../test/expect/instants.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const acme = await t.org()
const { live, test: testKey } = acme.keys
const orgId = acme.org.id
const client = audienceClient(t, acme)
const leavesNoTrace = await watchTables(t.database)
let people = 0
const freshEmail = () => `member${++people}@example.com`
const idsOf = ({ body }: Reply): string[] => body.data.map((row: { id: string }) => row.id)

describe('audiences', () => {
  test('S-345 SD-88 A-158 A-159 an audience is created, read and deleted, with an audit entry for each change', async () => {
    const { result: id, trail } = await withTrail(t.database, orgId, async () => {
      const created = await client.create({ name: 'Gamma users' })
      const shown = {
        id: expect.stringMatching(/^aud_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
        name: 'Gamma users',
        slug: 'gamma-users',
        member_count: 0,
        tenant_id: null,
        created_at: iso,
        updated_at: iso,
      }
      expect([created.status, created.body]).toEqual([201, shown])
      expect((await client.get(created.body.id)).body).toEqual(created.body)
      const removed = await client.remove(created.body.id)
      expect([removed.status, removed.body]).toEqual([200, { id: created.body.id, deleted: true }])
      expectRefusal(await client.get(created.body.id), 'NOT_FOUND')
      return created.body.id
    })
    expect(trail.map(({ action, resource_type, resource_id }) => [action, resource_type, resource_id])).toEqual([
      ['audience.created', 'audience', id],
      ['audience.removed', 'audience', id],
    ])
  })

  test('S-345 SD-88 R-31 a slug is unique in the org over all tenants, and a derived one gets a suffix', async () => {
    const key = await t.key(orgId, { tenantId: await t.tenant(orgId) })
    expect((await client.create({ name: 'News', slug: 'news' })).status).toBe(201)
    await leavesNoTrace(async () => {
      for (const options of [{ key: live }, { key }]) {
        expectRefusal(await client.create({ name: 'Other', slug: 'news' }, options), 'AUDIENCE_SLUG_TAKEN')
      }
    })
    expect((await client.create({ name: 'News' }, { key })).body.slug).toMatch(/^news-[a-z0-9]{6}$/)
    const elsewhere = audienceClient(t, await t.org())
    expect((await elsewhere.create({ name: 'News', slug: 'news' })).status).toBe(201)
  })

  test('SD-88 refuses a name or slug outside its bounds', () =>
    leavesNoTrace(async () => {
      for (const body of [{}, { name: '' }, { name: '  ' }, { name: 'n'.repeat(201) }]) {
        expect((await client.create(body)).body.error.errors[0].path).toEqual(['name'])
      }
      for (const slug of ['', 'Upper', 'a--b', '-a', 'a_b', 's'.repeat(65)]) {
        expect((await client.create({ name: 'x', slug })).body.error.errors[0].path, slug).toEqual(['slug'])
      }
    }))

  test('X-279 the plan limits the number of audiences', async () => {
    const small = await t.org({ plan: 'free' })
    const own = audienceClient(t, small)
    const replies = await Promise.all(Array.from({ length: 6 }, () => own.create({ name: 'Some' })))
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 201, 402, 402, 402])
    const refused = replies.find(({ status }) => status === 402) as Reply
    expectRefusal(refused, 'PLAN_RESOURCE_LIMIT', { message: 'The free plan allows 3 audiences.' })
  })

  test('SD-88 A-262 lists newest first, and a tenant sees only its own', async () => {
    const own = await t.org()
    const mine = audienceClient(t, own)
    const tenantId = await t.tenant(own.org.id)
    const key = await t.key(own.org.id, { tenantId })
    const first = await mine.made({ name: 'First' })
    await tick(t.service.clock)
    const second = await mine.made({ name: 'Second' }, { key })
    const list = (by: string) => t.ask('GET', '/api/v1/audiences', { key: by })
    expect(idsOf(await list(own.keys.live))).toEqual([second, first])
    expect((await list(key)).body.data).toMatchObject([{ id: second, tenant_id: tenantId }])
  })

  test('XD-10 SD-11 a test key cannot change an audience of a live key, and a write scope cannot read', async () => {
    const id = await client.made()
    const contact = (await client.add(id, { email: freshEmail() })).body
    const writer = await t.key(orgId, { scopes: ['write:audiences'] })
    await leavesNoTrace(async () => {
      expectRefusal(await client.remove(id, testKey), 'ENVIRONMENT_ESCALATION')
      expectRefusal(await client.add(id, { email: freshEmail() }, { key: testKey }), 'ENVIRONMENT_ESCALATION')
      expectRefusal(await client.unlink(id, contact.id, testKey), 'ENVIRONMENT_ESCALATION')
      expectRefusal(await client.importCsv(id, 'email\nx@example.com', { key: testKey }), 'ENVIRONMENT_ESCALATION')
      expect((await client.get(id, writer)).body.error.code).toBe('INSUFFICIENT_SCOPE')
      expect((await client.exportCsv(id, writer)).body.error.code).toBe('INSUFFICIENT_SCOPE')
    })
    expect((await client.add(id, { email: freshEmail() }, { key: writer })).status).toBe(201)
    expect((await client.get(id, testKey)).body.member_count).toBe(2)
  })
})

describe('members', () => {
  test('S-347 S-348 SD-89 a contact is created and linked, then linked to a second audience by its id', async () => {
    const [one, two] = [await client.made(), await client.made()]
    const fields = { name: 'Ada', email: freshEmail(), metadata: { plan: 'pro' } }
    const { result: added, trail } = await withTrail(t.database, orgId, () => client.add(one, fields))
    expect([added.status, added.body]).toEqual([
      201,
      {
        ...fields,
        phone: null,
        id: expect.stringMatching(/^con_/),
        tenant_id: null,
        created_at: iso,
        updated_at: iso,
        audience_id: one,
      },
    ])
    expect(trail.map(({ action }) => action)).toEqual(['contact.created'])
    const { audience_id: _, ...contact } = added.body
    const linked = await client.add(two, { contact_id: contact.id.replace('con_', 'ctc_') })
    expect([linked.status, linked.body]).toEqual([201, { ...contact, audience_id: two }])
    for (const id of [one, two]) {
      expect((await client.members(id)).body.data).toEqual([contact])
      expect((await client.get(id)).body.member_count).toBe(1)
    }
  })

  test('SD-89 S-348 a second link returns 200, keeps the contact as it is and counts once', async () => {
    const id = await client.made()
    const email = freshEmail()
    const first = (await client.add(id, { email, name: 'Ada' })).body
    await leavesNoTrace(async () => {
      const again = await client.add(id, { email: email.toUpperCase(), name: 'Other', metadata: { a: 'b' } })
      expect([again.status, again.body]).toEqual([200, first])
    })
    const replies = await Promise.all(Array.from({ length: 8 }, () => client.add(id, { email: 'racing@example.com' })))
    expect(replies.map(({ status }) => status).sort()).toEqual([...new Array(7).fill(200), 201])
    expect((await client.get(id)).body.member_count).toBe(2)
  })

  test('SD-91 takes a phone number of up to 32 characters in any format', async () => {
    const id = await client.made()
    expect((await client.add(id, { phone: ' 030 / 123 45 ' })).body.phone).toBe('030 / 123 45')
    expect((await client.add(id, { phone: '1'.repeat(32) })).status).toBe(201)
    for (const phone of ['', '1'.repeat(33)]) {
      expect((await client.add(id, { phone })).body.error.errors[0].path).toEqual(['phone'])
    }
  })

  test('SD-89 refuses both an id and fields, neither of them, and an unknown contact', async () => {
    const id = await client.made()
    const { id: contactId } = (await client.contact({ email: freshEmail() })).body
    await leavesNoTrace(async () => {
      const both = await client.add(id, { contact_id: contactId, email: 'a@example.com' })
      expect(both.body.error.errors[0]).toMatchObject({ path: ['contact_id'], code: 'custom' })
      expect((await client.add(id, {})).body.error.errors[0].path).toEqual(['email'])
      expectRefusal(await client.add(id, { contact_id: newId('contact') }), 'NOT_FOUND')
      expectRefusal(await client.add(newId('audience'), { contact_id: contactId }), 'NOT_FOUND')
    })
  })

  test('SD-89 unlinking keeps the contact, and a contact that is not a member is not found', async () => {
    const id = await client.made()
    const { id: contactId } = (await client.add(id, { email: freshEmail() })).body
    const reply = await client.unlink(id, contactId)
    expect([reply.status, reply.body]).toEqual([200, { id: contactId, deleted: true }])
    expect((await client.get(id)).body.member_count).toBe(0)
    expect((await client.contactOf(contactId)).status).toBe(200)
    await leavesNoTrace(async () => expectRefusal(await client.unlink(id, contactId), 'NOT_FOUND'))
  })

  test('S-347 lists members newest first in pages', async () => {
    const id = await client.made()
    const made = []
    for (let n = 0; n < 5; n++) made.unshift((await client.add(id, { email: freshEmail() })).body.id)
    const first = await client.members(id, '?limit=3')
    expect([idsOf(first), first.body.has_more]).toEqual([made.slice(0, 3), true])
    const second = await client.members(id, `?limit=3&cursor=${first.body.next_cursor}`)
    expect([idsOf(second), second.body.has_more]).toEqual([made.slice(3), false])
  })

  test('A-262 a member belongs to the tenant of its audience, and a contact of another tenant cannot join', async () => {
    const [tenantId, other] = [await t.tenant(orgId), await t.tenant(orgId)]
    const key = await t.key(orgId, { tenantId })
    const id = await client.made({ name: 'Tenant' }, { key })
    const email = freshEmail()
    const ofOrg = (await client.contact({ email })).body
    const ofOther = (await client.contact({ email }, { key: await t.key(orgId, { tenantId: other }) })).body
    const added = await client.add(id, { email })
    expect([added.status, added.body.tenant_id, added.body.id === ofOrg.id]).toEqual([201, tenantId, false])
    await leavesNoTrace(async () => {
      for (const contact of [ofOrg, ofOther]) {
        expectRefusal(await client.add(id, { contact_id: contact.id }), 'NOT_FOUND')
      }
    })
  })
})

test('X-127 AD-107 erasing a tenant deletes its contacts and audiences and counts the contacts', async () => {
  const tenants = tenantClient(t, acme)
  const [id, other] = [await tenants.made(), await tenants.made()]
  const [key, otherKey] = [await t.key(orgId, { tenantId: id }), await t.key(orgId, { tenantId: other })]
  const audience = await client.made({}, { key })
  const kept = await client.made({}, { key: otherKey })
  const csv = `email\n${Array.from({ length: 700 }, (_, i) => `gone${i}@example.com`).join('\n')}`
  expect((await client.importCsv(audience, csv, { key })).body.created).toBe(700)
  expect((await client.importCsv(kept, csv, { key: otherKey })).body.created).toBe(700)
  await tenants.move('suspend', id)
  const { body } = await tenants.move('erase', id)
  expect([body.status, body.contacts_deleted]).toEqual(['erased', 700])
  expectRefusal(await client.get(audience), 'NOT_FOUND')
  const left = await t.database.sql<{ n: number }>('select count(*)::int as n from contacts where tenant_id = $1', [id])
  expect(left).toEqual([{ n: 0 }])
  expect((await client.get(kept)).body.member_count).toBe(700)
  const [event] = await t.database.sql<{ data: unknown }>(
    "select data from events where org_id = $1 and event = 'tenant.erased' and tenant_id = $2",
    [orgId, id],
  )
  expect(event?.data).toMatchObject({ tenant_id: id, contacts_deleted: 700 })
})

test('SD-94 scheduled messages are still sent after their audience and their contact are deleted', async () => {
  const id = await client.made()
  const contact = (await client.add(id, { email: 'scheduled@reader.test' })).body
  const messageId = newId('message', t.service.clock.millis())
  await t.database.sql(
    `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address, to_addresses,
       subject, text, due_at, history, job_id)
     select $1, $2, time_of_id($2), 'live', id, 'email', 'scheduled', 'hello@example.test', array[$3], 'Hi', 'Hi', $4, '[]',
       $5
     from projects where org_id = $1 and is_default`,
    [orgId, messageId, contact.email, t.service.clock.now(), newId('job')],
  )
  expect((await client.deleteContact(contact.id)).status).toBe(200)
  expect((await client.remove(id)).status).toBe(200)
  await t.service.tasks.scheduler?.run()
  const rows = await t.database.sql('select status, to_addresses, text from messages where id = $1', [messageId])
  expect(rows).toEqual([{ status: 'sent', to_addresses: ['scheduled@reader.test'], text: 'Hi' }])
})

test('The rows of contacts, audiences and members are deleted with their org', async () => {
  const cascades = await t.database.sql<{ from: string; to: string }>(
    `select conrelid::regclass::text as from, confrelid::regclass::text as to from pg_constraint
     where contype = 'f' and confdeltype = 'c'
       and conrelid in ('contacts'::regclass, 'audiences'::regclass, 'audience_members'::regclass)
     order by 1, 2`,
  )
  expect(cascades.map(({ from, to }) => `${from} ${to}`)).toEqual([
    'audience_members audiences',
    'audience_members contacts',
    'audiences orgs',
    'contacts orgs',
  ])
})
