import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { audienceClient } from '../../../test/clients/audience-client.ts'
import { keyIdOf } from '../../../test/clients/key-client.ts'
import { iso, tick } from '../../../test/expect/instants.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const acme = await t.org()
const { live, test: testKey } = acme.keys
const orgId = acme.org.id
const client = audienceClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

const needsTarget = [
  { path: ['email'], code: 'custom', message: 'A contact needs an email address or a phone number.' },
]
const e164 = 'Must be a phone number in E.164 format, such as +14155550100.'
let numbers = 0
const freshPhone = () => `+1415555${String(++numbers).padStart(4, '0')}`
const freshEmail = () => `Person${++numbers}@Example.com`

describe('creating a contact', () => {
  test('S-346 S-349 A-162 SD-90 stores the fields, returns them and writes one audit entry', async () => {
    const fields = { name: 'Ada Lovelace', email: 'Ada@Example.com', phone: '+14155550100', metadata: { plan: 'pro' } }
    const { result: reply, trail } = await withTrail(t.database, orgId, () => client.contact(fields))
    const shown = {
      ...fields,
      id: expect.stringMatching(/^con_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
      tenant_id: null,
      created_at: iso,
      updated_at: reply.body.created_at,
    }
    expect([reply.status, reply.body]).toEqual([201, shown])
    expect(await client.contactOf(reply.body.id)).toMatchObject({ status: 200, body: reply.body })
    const metadata = { via: 'api_key', api_key_id: await keyIdOf(t, live), tenant_id: null }
    expect(trail).toMatchObject([
      { action: 'contact.created', resource_type: 'contact', resource_id: reply.body.id, metadata },
    ])
    expect(trail).toHaveLength(1)
  })

  test('S-349 SD-91 refuses a phone number that is not in E.164 format', () =>
    leavesNoTrace(async () => {
      for (const phone of ['4155550100', '+0155550100', '+1', '+1234567890123456', 'phone', '']) {
        const errors = [{ path: ['phone'], code: 'invalid_string', message: e164 }]
        expectRefusal(await client.contact({ phone }), 'VALIDATION_ERROR', { errors }, phone)
      }
    }))

  test('SD-90 refuses a contact without email and phone, and one whose fields exceed their bounds', () =>
    leavesNoTrace(async () => {
      expectRefusal(await client.contact({ name: 'Ada' }), 'VALIDATION_ERROR', { errors: needsTarget })
      const keys = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 'v']))
      for (const [field, value] of [
        ['email', 'not an address'],
        ['email', 'Ada <ada@example.com>'],
        ['name', 'n'.repeat(201)],
        ['metadata', keys(101)],
        ['metadata', { plan: 'v'.repeat(4_097) }],
        ['metadata', { plan: 7 }],
        ['metadata', { plan: null }],
        ['metadata', { ' plan': 'pro' }],
      ] as const) {
        const reply = await client.contact({ email: 'ada@example.com', [field]: value })
        expect([reply.status, reply.body.error.errors[0].path[0]], JSON.stringify(value)).toEqual([422, field])
      }
    }))

  test('SD-90 accepts 100 metadata keys with values of 4,096 characters', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, 'v'.repeat(4_096)]))
    expect(await client.contact({ email: freshEmail(), metadata })).toMatchObject({ status: 201, body: { metadata } })
  })

  test('SD-90 R-31 returns an existing contact unchanged, by email without case, else by phone', async () => {
    const [email, phone] = [freshEmail(), freshPhone()]
    const first = (await client.contact({ email, phone, name: 'First' })).body
    await leavesNoTrace(async () => {
      const byEmail = await client.contact({ email: email.toUpperCase(), name: 'Second', metadata: { a: 'b' } })
      expect([byEmail.status, byEmail.body]).toEqual([200, first])
      const byPhone = await client.contact({ phone, name: 'Third' })
      expect([byPhone.status, byPhone.body]).toEqual([200, first])
    })
    const other = await client.contact({ email: freshEmail(), phone })
    expect([other.status, other.body.id === first.id]).toEqual([201, false])
  })

  test('R-31 prefers the contact that has only the phone number', async () => {
    const phone = freshPhone()
    const only = (await client.contact({ phone })).body
    await client.contact({ email: freshEmail(), phone })
    expect(await client.contact({ phone })).toMatchObject({ status: 200, body: only })
  })

  test('SD-90 concurrent requests for one person create one contact', async () => {
    for (const who of [{ email: freshEmail() }, { phone: freshPhone() }]) {
      const replies = await Promise.all(Array.from({ length: 12 }, () => client.contact(who)))
      expect(replies.map(({ status }) => status).sort()).toEqual([...new Array(11).fill(200), 201])
      expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1)
    }
  })

  test('A-262 SD-90 a contact belongs to the tenant of its key, and another tenant has its own', async () => {
    const [one, two] = [await t.tenant(orgId), await t.tenant(orgId)]
    const email = freshEmail()
    const keys = [live, await t.key(orgId, { tenantId: one }), await t.key(orgId, { tenantId: two })]
    const rows = []
    for (const key of keys) rows.push((await client.contact({ email }, { key })).body)
    expect(rows.map((row) => row.tenant_id)).toEqual([null, one, two])
    expect(new Set(rows.map((row) => row.id)).size).toBe(3)
    const found = await client.contacts(`?email=${email}`)
    expect(found.body.data.map((row: { id: string }) => row.id)).toEqual(rows.map((row) => row.id).reverse())
    expect((await client.contacts(`?email=${email}`, keys[1])).body.data).toEqual([rows[1]])
    expect((await client.contacts('', keys[2])).body.data).toEqual([rows[2]])
  })
})

describe('reading contacts', () => {
  test('SD-90 lists contacts newest first in pages, and filters by email and phone', async () => {
    const own = await t.org()
    const mine = audienceClient(t, own)
    const made = []
    for (const n of [1, 2, 3]) {
      await tick(t.service.clock)
      made.unshift((await mine.contact({ email: `p${n}@example.com`, phone: `+4420794600${n}0` })).body)
    }
    const first = await mine.contacts('?limit=2')
    expect(first.body).toMatchObject({ data: made.slice(0, 2), has_more: true })
    const second = await mine.contacts(`?limit=2&cursor=${first.body.next_cursor}`)
    expect(second.body).toEqual({ data: made.slice(2), has_more: false, next_cursor: null })
    expect((await mine.contacts('?email=P2@EXAMPLE.com')).body.data).toEqual([made[1]])
    expect((await mine.contacts('?phone=%2B442079460030')).body.data).toEqual([made[0]])
    expect((await mine.contacts('?phone=+442079460030')).body.data).toEqual([made[0]])
    expect((await mine.contacts('?email=p2@example.com&phone=%2B442079460030')).body.data).toEqual([])
  })

  test('S-006 SD-08 accepts an id that starts with ctc_', async () => {
    const { body } = await client.contact({ email: freshEmail() })
    expect((await client.contactOf(body.id.replace('con_', 'ctc_'))).body).toEqual(body)
  })

  test('SD-11 reads need read:contacts and writes need write:contacts', async () => {
    const { body } = await client.contact({ email: freshEmail() })
    const [reader, writer] = [
      await t.key(orgId, { scopes: ['read:contacts'] }),
      await t.key(orgId, { scopes: ['write:contacts'] }),
    ]
    expect((await client.contactOf(body.id, reader)).status).toBe(200)
    await leavesNoTrace(async () => {
      expect((await client.contactOf(body.id, writer)).body.error.code).toBe('INSUFFICIENT_SCOPE')
      expect((await client.patchContact(body.id, { name: 'x' }, reader)).body.error.code).toBe('INSUFFICIENT_SCOPE')
    })
    expect((await client.patchContact(body.id, { name: 'x' }, writer)).status).toBe(200)
  })
})

describe('changing a contact', () => {
  test('R-31 replaces the fields that are given, and metadata as a whole', async () => {
    const before = (await client.contact({ email: freshEmail(), name: 'Ada', metadata: { a: '1', b: '2' } })).body
    await tick(t.service.clock)
    const phone = freshPhone()
    const changed = await client.patchContact(before.id, { phone, metadata: { c: '3' } })
    expect([changed.status, changed.body]).toEqual([200, { ...before, phone, metadata: { c: '3' }, updated_at: iso }])
    expect(changed.body.updated_at > before.updated_at).toBe(true)
    const cleared = await client.patchContact(before.id, { name: null, email: null })
    expect([cleared.body.name, cleared.body.email, cleared.body.phone]).toEqual([null, null, phone])
  })

  test('R-31 SD-91 R-53 refuses what is invalid, and changes nothing', async () => {
    const taken = freshEmail()
    const other = (await client.contact({ email: taken, phone: freshPhone() })).body
    const { id } = (await client.contact({ email: freshEmail() })).body
    await leavesNoTrace(async () => {
      expectRefusal(await client.patchContact(id, {}), 'NO_FIELDS')
      expectRefusal(await client.patchContact(id, { email: null }), 'VALIDATION_ERROR', { errors: needsTarget })
      expectRefusal(await client.patchContact(id, { email: taken.toLowerCase() }), 'CONTACT_ALREADY_EXISTS')
      expect((await client.patchContact(id, { phone: '123' })).body.error.errors[0].path).toEqual(['phone'])
      expect((await client.patchContact(id, { metadata: { a: null } })).body.error.errors[0].path).toEqual([
        'metadata',
        'a',
      ])
    })
    expect((await client.patchContact(id, { phone: other.phone })).body.phone).toBe(other.phone)
  })

  test('XD-10 a test key changes and deletes only contacts that a test key created', async () => {
    const byLive = (await client.contact({ email: freshEmail() })).body
    const byTest = (await client.contact({ email: freshEmail() }, { key: testKey })).body
    await leavesNoTrace(async () => {
      expectRefusal(await client.patchContact(byLive.id, { name: 'x' }, testKey), 'ENVIRONMENT_ESCALATION')
      expectRefusal(await client.deleteContact(byLive.id, testKey), 'ENVIRONMENT_ESCALATION')
      expect((await client.contactOf(byLive.id, testKey)).body).toEqual(byLive)
    })
    expect((await client.patchContact(byTest.id, { name: 'x' }, testKey)).status).toBe(200)
    expect((await client.deleteContact(byTest.id, testKey)).status).toBe(200)
  })
})

describe('deleting a contact', () => {
  test('SD-90 AD-99 removes it from its audiences, corrects their counts and writes contact.removed', async () => {
    const audiences = [await client.made(), await client.made()]
    const { id } = (await client.contact({ email: freshEmail() })).body
    for (const audience of audiences) {
      await client.add(audience, { contact_id: id })
      await client.add(audience, { email: freshEmail() })
    }
    const { result: reply, trail } = await withTrail(t.database, orgId, () => client.deleteContact(id))
    expect([reply.status, reply.body]).toEqual([200, { id, deleted: true }])
    expect(trail.map(({ action, resource_id }) => [action, resource_id])).toEqual([['contact.removed', id]])
    for (const audience of audiences) expect((await client.get(audience)).body.member_count).toBe(1)
    expectRefusal(await client.contactOf(id), 'NOT_FOUND')
    expectRefusal(await client.deleteContact(id), 'NOT_FOUND')
  })

  test('SD-89 SD-90 concurrent linking and deleting leaves exact counts', async () => {
    const audiences = await Promise.all([client.made(), client.made(), client.made()])
    for (let round = 0; round < 5; round++) {
      const ids = await Promise.all(
        [1, 2, 3, 4].map(async () => (await client.contact({ email: freshEmail() })).body.id),
      )
      const links = () => ids.flatMap((id) => audiences.map((audience) => client.add(audience, { contact_id: id })))
      await Promise.all(links())
      const replies = await Promise.all([...links(), ...ids.map((id) => client.deleteContact(id))])
      for (const { status, text } of replies) expect([200, 201, 404], text).toContain(status)
    }
    const counts = await t.database.sql(
      `select a.id from audiences a where a.member_count <>
         (select count(*) from audience_members m where m.org_id = a.org_id and m.audience_id = a.id)`,
    )
    expect(counts).toEqual([])
  })
})
