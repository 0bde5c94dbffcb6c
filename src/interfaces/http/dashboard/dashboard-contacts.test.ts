/** Contacts through the dashboard, and the search in them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { audienceClient } from '../../../../test/clients/audience-client.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { tenantClient } from '../../../../test/clients/tenant-client.ts'
import { iso } from '../../../../test/expect/instants.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'
import { makeFindContacts } from '../../../recipients/audiences/find-contacts.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const acme = await t.org()
const orgId = acme.org.id
const developer = await person(t, { orgId, role: 'developer' })
const member = await person(t, { orgId, role: 'member' })
const viewer = await person(t, { orgId, role: 'viewer' })
const stranger = await primaryOwner(t, (await t.org()).org.id)

const path = '/api/internal/contacts'

const made = async (body: object, who: Member = developer): Promise<string> => {
  const reply = await who.ask('POST', path, body)
  expect(reply.status, reply.text).toBe(201)
  return reply.body.id
}

describe('contacts', () => {
  test('A-062 A-162 AD-156 a developer creates, changes and deletes a contact, under their own name', async () => {
    const fields = { name: 'Ada', email: 'Ada@c.example', phone: '+14155550100', metadata: { plan: 'pro' } }
    const { result, trail } = await withTrail(t.database, orgId, () => developer.ask('POST', path, fields))
    const { id } = result.body
    const contact = { id, ...fields, tenant_id: null, created_at: iso, updated_at: iso }
    expect([result.status, result.body]).toEqual([201, contact])
    const entry = (action: string) =>
      expect.objectContaining({
        actor_user_id: developer.userId,
        action,
        resource_type: 'contact',
        resource_id: id,
        metadata: { tenant_id: null },
      })
    expect(trail).toEqual([entry('contact.created')])
    const again = await leavesNoTrace(() => developer.ask('POST', path, { email: 'ada@C.example' }))
    expect([again.status, again.body]).toEqual([200, contact])

    const patched = await developer.ask('PATCH', `${path}?id=${id}`, { name: null, metadata: {} })
    expect([patched.status, patched.body]).toEqual([200, { ...contact, name: null, metadata: {} }])
    expect((await viewer.ask('GET', `${path}?id=${id}`)).body).toEqual(patched.body)
    const empty = await leavesNoTrace(() => developer.ask('PATCH', `${path}?id=${id}`, { nam: 'x' }))
    expect([empty.status, empty.body.code]).toEqual([422, 'NO_FIELDS'])

    const deleted = await withTrail(t.database, orgId, () => developer.ask('DELETE', `${path}?id=${id}`))
    expect([deleted.result.status, deleted.result.body]).toEqual([200, { id, deleted: true }])
    expect(deleted.trail).toEqual([entry('contact.removed')])
  })

  test('A-048 A-062 a member and a viewer read contacts and change none', async () => {
    const id = await made({ email: 'kept@c.example' })
    await leavesNoTrace(async () => {
      for (const who of [member, viewer]) {
        expect((await who.ask('GET', `${path}?id=${id}`)).status).toBe(200)
        for (const [method, url, body] of [
          ['POST', path, { email: 'new@c.example' }],
          ['PATCH', `${path}?id=${id}`, { name: 'x' }],
          ['DELETE', `${path}?id=${id}`],
        ] as const) {
          const reply = await who.ask(method, url, body)
          expect([reply.status, reply.body], method).toEqual([403, { error: 'Developer or owner role required' }])
        }
      }
    })
  })

  test('AD-04 ids of another org and malformed ids are 404 and change nothing', async () => {
    const id = await made({ email: 'foreign@c.example' })
    await leavesNoTrace(async () => {
      for (const [who, of] of [
        [stranger, id],
        [developer, newId('contact')],
        [developer, 'nonsense'],
      ] as const) {
        for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
          const reply = await who.ask(method, `${path}?id=${of}`, body)
          expect([reply.status, reply.body], `${method} ${of}`).toEqual([404, { error: 'Not found' }])
        }
      }
      const missing = await developer.ask('PATCH', path, { name: 'x' })
      expect([missing.status, missing.body.errors[0].path]).toEqual([422, ['id']])
    })
  })

  test('AD-153 contacts of all tenants are listed, and of one with tenant_id', async () => {
    const tenantId = await tenantClient(t, acme).made()
    const id = await made({ email: 'tenant@c.example', tenant_id: tenantId })
    const ids = async (query: string) =>
      (await viewer.ask('GET', `${path}?${query}`)).body.data.map((row: { id: string }) => row.id)
    expect(await ids(`tenant_id=${tenantId}`)).toEqual([id])
    expect(await ids(`tenant_id=${tenantId}&q=TENANT@`)).toEqual([id])
    expect(await ids('q=tenant@')).toEqual([id])
    expect((await ids('limit=100'))[0]).toBe(id)
    const unknown = await leavesNoTrace(() =>
      developer.ask('POST', path, { email: 'x@c.example', tenant_id: newId('tenant') }),
    )
    expect([unknown.status, unknown.body]).toEqual([404, { error: 'Not found' }])
  })
})

describe('searching', () => {
  let owner: Member
  let own: Awaited<ReturnType<typeof t.org>>
  const namesOf = (reply: { body: { data: { name: string }[] } }) => reply.body.data.map(({ name }) => name)
  const search = async (query: string): Promise<string[]> => {
    const reply = await owner.ask('GET', `${path}?${query}`)
    expect(reply.status, reply.text).toBe(200)
    return namesOf(reply)
  }

  beforeAll(async () => {
    own = await t.org()
    owner = await primaryOwner(t, own.org.id)
    for (const [name, email, phone] of [
      ['Zoë Lang', 'zoe@s.example', '+14155550101'],
      ['100% Cotton_Co', 'shop@s.example', '+14155550102'],
      ['a\\b', 'back@s.example', '+4930555'],
      ['ÅSA', 'asa@other.example', '+14155550104'],
    ] as const) {
      await made({ name, email, phone }, owner)
    }
  })

  test.each([
    ['zOë l', ['Zoë Lang']],
    ['Åsa', ['ÅSA']],
    ['S.EXAMPLE', ['a\\b', '100% Cotton_Co', 'Zoë Lang']],
    ['5555010', ['ÅSA', '100% Cotton_Co', 'Zoë Lang']],
    ['+4930', ['a\\b']],
    ['%', ['100% Cotton_Co']],
    ['_', ['100% Cotton_Co']],
    ['\\', ['a\\b']],
    ['LangZoe', []],
    [`' or 1=1 --`, []],
  ])('AD-156 finds %s in names, addresses and numbers, literally and in either case', async (q, names) => {
    expect(await search(`q=${encodeURIComponent(q)}`)).toEqual(names)
  })

  test('AD-156 searches in an audience, and not with another tenant', async () => {
    const audiences = audienceClient(t, own)
    const id = await audiences.made()
    await audiences.add(id, { email: 'zoe@s.example' })
    await audiences.add(id, { email: 'shop@s.example' })
    expect(await search(`audience_id=${id}`)).toEqual(['100% Cotton_Co', 'Zoë Lang'])
    expect(await search(`audience_id=${id}&q=lang`)).toEqual(['Zoë Lang'])
    expect(await search(`audience_id=${id}&q=asa`)).toEqual([])
    expect(await search(`audience_id=${id}&tenant_id=${newId('tenant')}`)).toEqual([])
    const unknown = await owner.ask('GET', `${path}?audience_id=${newId('audience')}`)
    expect([unknown.status, unknown.body]).toEqual([404, { error: 'Not found' }])
  })

  test('AD-156 a search goes on from its cursor, and finds everything once', async () => {
    const first = await owner.ask('GET', `${path}?q=s.example&limit=2`)
    expect([namesOf(first), first.body.has_more]).toEqual([['a\\b', '100% Cotton_Co'], true])
    const second = await owner.ask('GET', `${path}?q=s.example&limit=2&cursor=${first.body.next_cursor}`)
    expect([namesOf(second), second.body.has_more, second.body.next_cursor]).toEqual([['Zoë Lang'], false, null])
  })

  test.each([1, 2, 3, 4, 5])(
    'AD-156 a window of %i contacts ends with a cursor, and loses and repeats none',
    async (window) => {
      const { db } = t.service
      const find = makeFindContacts({ db, window })
      const scope = { orgId: own.org.id, tenantId: null, environment: 'live', projectId: null } as const
      const audienceId = (await owner.ask('GET', '/api/internal/audiences')).body.data[0].id
      for (const [where, expected] of [
        [{}, ['a\\b', '100% Cotton_Co', 'Zoë Lang']],
        [{ audienceId }, ['100% Cotton_Co', 'Zoë Lang']],
      ] as const) {
        const found: (string | null)[] = []
        let requests = 0
        for (let cursor: { createdAt: string; id: string } | undefined; ; ) {
          const { rows, next } = await find(scope, { q: 's.example', limit: 2, cursor, ...where })
          found.push(...rows.map(({ name }) => name))
          requests++
          if (!next) break
          cursor = next
        }
        expect(found).toEqual(expected)
        expect(requests).toBeLessThanOrEqual(5)
      }
    },
  )

  test('AD-121 an empty text is no filter', async () => {
    expect(await search('q=')).toEqual(await search('limit=50'))
  })

  test('AD-121 refuses a text longer than 200 characters', async () => {
    const reply = await owner.ask('GET', `${path}?q=${'x'.repeat(201)}`)
    expect([reply.status, reply.body.code, reply.body.errors[0].path]).toEqual([422, 'VALIDATION_ERROR', ['q']])
  })
})
