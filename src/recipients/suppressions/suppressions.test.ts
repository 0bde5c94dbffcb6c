import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mail, mailer } from '../../../test/clients/mailer.ts'
import { type Reply, startTestService, type TestService } from '../../../test/service/service.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import { newId } from '../../platform/ground/ids.ts'

let t: TestService
let acme: CreatedOrg
beforeAll(async () => {
  t = await startTestService()
  acme = await t.org()
})
afterAll(() => t.stop())

const refusal = (reply: Reply) => [reply.status, reply.body?.error?.code]
const add = (body: unknown, key = acme.keys.live) => t.ask('POST', '/api/v1/suppressions', { key, body })
const remove = (query: string, body?: unknown, key = acme.keys.live) =>
  t.ask('DELETE', `/api/v1/suppressions${query}`, { key, ...(body !== undefined && { body }) })
const listed = async (query: string, key = acme.keys.live) =>
  (await t.ask('GET', `/api/v1/suppressions?${query}`, { key })).body.data
const rows = () =>
  t.database.sql(
    `select org_id, id, tenant_id, channel, value, reason, source, message_id, created_environment, created_at,
       updated_at, unsubscribed_at, unsubscribe_source, unsubscribe_message_id
     from suppressions order by id`,
  )

/** A suppression that another part of the service wrote. */
const insert = async (reason: string, value: string, tenantId: string | null = null): Promise<string> => {
  const id = newId('suppression')
  await t.database.sql(
    `insert into suppressions (org_id, id, tenant_id, channel, value, reason, source, created_environment,
       created_at, updated_at)
     values ($1, $2, $3, 'email', $4, $5, 'provider', 'live', $6, $6)`,
    [acme.org.id, id, tenantId, value, reason, t.service.clock.now()],
  )
  return id
}

describe('adding', () => {
  test('an address is stored once in lower case, and adding it again returns the row unchanged with 200', async () => {
    const first = await add({ channel: 'email', value: 'Some.One@Example.com' })
    const again = await add({ channel: 'email', value: 'some.one@EXAMPLE.com' })
    expect([first.status, again.status]).toEqual([201, 200])
    expect(again.body).toEqual(first.body)
    const number = await add({ channel: 'sms', value: '+14155550100' })
    expect([number.status, number.body.value]).toEqual([201, '+14155550100'])
  })

  test.each([
    ['Üser@x.com', 'üser@x.com'],
    ['a/b@x.com', 'a/b@x.com'],
    ["!#$%&'*+-/=?^_`{|}~@x.com", "!#$%&'*+-/=?^_`{|}~@x.com"],
    ['ann@Bücher.example', 'ann@xn--bcher-kva.example'],
    ['Ann Lee <Ann.Lee@x.com>', 'ann.lee@x.com'],
    ['  ann@spaced.example ', 'ann@spaced.example'],
  ])('XD-22 every recipient that a send accepts can be suppressed, found and removed: %s', async (written, stored) => {
    const own = await mailer(t)
    const send = () => own.send(mail({ to: [written] }))
    expect((await send()).status).toBe(200)
    const added = await add({ channel: 'email', value: written }, own.live)
    expect([added.status, added.body.value]).toEqual([201, stored])
    expect((await add({ channel: 'email', value: stored }, own.live)).status).toBe(200)
    expect(refusal(await send())).toEqual([422, 'ALL_SUPPRESSED'])
    for (const value of [written, stored].map(encodeURIComponent)) {
      expect(await listed(`value=${value}`, own.live)).toEqual([added.body])
    }
    const deleted = { id: added.body.id, deleted: true }
    const query = `?channel=email&value=${encodeURIComponent(written)}`
    expect((await remove(query, { channel: 'email', value: stored }, own.live)).body).toEqual(deleted)
    expect((await send()).status).toBe(200)
  })

  test('XD-10 XD-22 a suppression that a test key added is promoted when a live key adds it too', async () => {
    const target = { channel: 'email', value: 'promoted@example.com' }
    const byTest = await add(target, acme.keys.test)
    expect(byTest.status).toBe(201)
    const again = await add(target)
    expect([again.status, again.body]).toEqual([200, byTest.body])
    expect(refusal(await remove(`/${byTest.body.id}`, undefined, acme.keys.test))).toEqual([
      403,
      'ENVIRONMENT_ESCALATION',
    ])
    expect((await add(target, acme.keys.test)).body).toEqual(byTest.body)
    expect((await remove(`/${byTest.body.id}`)).status).toBe(200)
  })

  test('XD-10 XD-22 concurrent additions with duplicates promote the suppressions of a test key', async () => {
    const items = ['a', 'b', 'a', 'c'].map((name) => ({ channel: 'email', value: `${name}@over.test` }))
    const byTest = await add({ items: items.slice(0, 2) }, acme.keys.test)
    const replies = await Promise.all([
      ...Array.from({ length: 5 }, () => add({ items })),
      ...Array.from({ length: 5 }, () => add({ items: items.toReversed() })),
      ...Array.from({ length: 5 }, () => add(items[0])),
    ])
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 201]))
    for (const { body } of replies) expect((body.data ?? [body]).at(0)).toBeDefined()
    const promoted = await t.database.sql(
      `select id, created_environment from suppressions
       where value in ('a@over.test', 'b@over.test') order by value`,
    )
    expect(promoted).toEqual(byTest.body.data.map(({ id }: { id: string }) => ({ id, created_environment: 'live' })))
  })

  test('an existing suppression with another reason stays unchanged', async () => {
    const id = await insert('complaint', 'angry@example.com')
    const reply = await add({ channel: 'email', value: 'angry@example.com' })
    expect([reply.status, reply.body.id, reply.body.reason]).toEqual([200, id, 'complaint'])
  })

  test('concurrent batches return their items in order and create one row for each target', async () => {
    const items = ['b@many.test', 'a@many.test', 'B@many.test'].map((value) => ({ channel: 'email', value }))
    const replies = await Promise.all(Array.from({ length: 10 }, () => add({ items })))
    for (const reply of replies) {
      expect(reply.body.data.map((row: { value: string }) => row.value)).toEqual([
        'b@many.test',
        'a@many.test',
        'b@many.test',
      ])
      expect(reply.body).toEqual(replies[0]?.body)
    }
    expect(replies.filter((reply) => reply.status === 201).length).toBeGreaterThanOrEqual(1)
    expect(await t.database.sql("select 1 from suppressions where value like '%@many.test'")).toHaveLength(2)
  })

  test('concurrent batches in opposite orders do not deadlock', async () => {
    const items = Array.from({ length: 500 }, (_, i) => ({ channel: 'email', value: `${i}@order.test` }))
    for (let round = 0; round < 3; round++) {
      const replies = await Promise.all([
        add({ items }),
        add({ items: items.toReversed() }),
        add({ items }),
        add({ items: items.toReversed() }),
      ])
      expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201])
      await t.database.sql("delete from suppressions where value like '%@order.test'")
    }
  })

  test('concurrent single additions each return their own row', async () => {
    const values = Array.from({ length: 150 }, (_, i) => `own${i % 120}@example.com`)
    const replies = await Promise.all(values.map((value) => add({ channel: 'email', value })))
    expect(replies.map((reply) => reply.body.value)).toEqual(values)
    expect(replies.filter((reply) => reply.status === 201)).toHaveLength(120)
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(30)
  })

  test.each([
    [{}],
    [{ channel: 'email' }],
    [{ channel: 'email', value: 'no address' }],
    [{ channel: 'email', value: `${'x'.repeat(320)}@example.com` }],
    [{ channel: 'sms', value: '4155550100' }],
    [{ channel: 'sms', value: '+04155550100' }],
    [{ channel: 'sms', value: '+1415555010012345' }],
    [{ items: [] }],
    [{ items: Array.from({ length: 1_001 }, () => ({ channel: 'sms', value: '+14155550100' })) }],
    [
      {
        items: [
          { channel: 'email', value: 'fine@example.com' },
          { channel: 'email', value: 'not' },
        ],
      },
    ],
    [[]],
    [null],
    ['text'],
  ])('%j is rejected and nothing is added', async (body) => {
    const before = await rows()
    expect(refusal(await add(body))).toEqual([422, 'VALIDATION_ERROR'])
    expect(await rows()).toEqual(before)
  })
})

describe('removing', () => {
  test('X-299 bounce, manual and unsubscribe can be removed by id and by target, in query or body', async () => {
    for (const reason of ['bounce', 'manual', 'unsubscribe']) {
      const byId = await insert(reason, `id-${reason}@example.com`)
      expect((await remove(`/${byId}`)).body).toEqual({ id: byId, deleted: true })
      const byQuery = await insert(reason, `query-${reason}@example.com`)
      expect((await remove(`?channel=email&value=QUERY-${reason}@example.com`)).body).toEqual({
        id: byQuery,
        deleted: true,
      })
      const byBody = await insert(reason, `body-${reason}@example.com`)
      expect((await remove('', { channel: 'email', value: `body-${reason}@example.com` })).body).toEqual({
        id: byBody,
        deleted: true,
      })
    }
  })

  test('X-260 X-300 a stop or complaint cannot be removed: 409 SUPPRESSION_PROTECTED', async () => {
    for (const reason of ['stop', 'complaint']) {
      const id = await insert(reason, `${reason}@protected.test`)
      for (const reply of [
        await remove(`/${id}`),
        await remove(`?id=${id}`),
        await remove('', { channel: 'email', value: `${reason}@protected.test` }),
      ]) {
        expect(refusal(reply)).toEqual([409, 'SUPPRESSION_PROTECTED'])
      }
      expect((await t.ask('GET', `/api/v1/suppressions/${id}`, { key: acme.keys.live })).body.reason).toBe(reason)
    }
  })

  test('X-301 the same target in query and body is accepted', async () => {
    const id = await insert('manual', 'same@example.com')
    expect(
      (await remove('?channel=email&value=same@example.com', { channel: 'email', value: 'Same@example.com' })).body,
    ).toEqual({ id, deleted: true })
  })

  test('X-301 an id and a target of the same row are accepted, whichever of them is in the query', async () => {
    const target = { channel: 'email', value: 'One@Row.test' }
    const inBody = await insert('manual', 'one@row.test')
    expect((await remove(`?id=${inBody}`, target)).body).toEqual({ id: inBody, deleted: true })
    const inQuery = await insert('manual', 'one@row.test')
    expect((await remove('?channel=email&value=one@row.test', { id: inQuery })).body).toEqual({
      id: inQuery,
      deleted: true,
    })
    expect(await listed('value=one@row.test')).toEqual([])
  })

  test("X-301 X-302 an unknown id is 404, another tenant's id is 403, and nothing is deleted", async () => {
    const target = { channel: 'email', value: 'there@row.test' }
    await insert('manual', target.value)
    const [tenantId, other] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
    const key = await t.key(acme.org.id, { tenantId })
    const foreign = await insert('manual', target.value, other)
    const before = await rows()
    expect(refusal(await remove(`?id=${newId('suppression')}`, target))).toEqual([404, 'NOT_FOUND'])
    expect(refusal(await remove(`?id=${foreign}`, target, key))).toEqual([403, 'TENANT_FORBIDDEN'])
    expect(await rows()).toEqual(before)
  })

  test('X-261 X-302 different targets in query and body are 422 QUERY_BODY_CONFLICT; nothing is deleted', async () => {
    const one = await insert('manual', 'one@conflict.test')
    await insert('manual', 'two@conflict.test')
    const protectedOne = await insert('complaint', 'three@conflict.test')
    const ofTenant = await insert('manual', 'two@conflict.test', await t.tenant(acme.org.id))
    const before = await rows()
    const replies = [
      await remove('?channel=email&value=one@conflict.test', {
        channel: 'email',
        value: 'two@conflict.test',
      }),
      await remove(`?id=${one}`, { channel: 'email', value: 'two@conflict.test' }),
      await remove('?channel=email&value=two@conflict.test', { id: one }),
      await remove(`?id=${one}`, { channel: 'email', value: 'nobody@conflict.test' }),
      await remove(`?id=${one}`, { channel: 'email', value: 'three@conflict.test' }),
      await remove(`?id=${protectedOne}`, { channel: 'email', value: 'one@conflict.test' }),
      await remove(`?id=${ofTenant}`, { channel: 'email', value: 'two@conflict.test' }),
      await remove(`?id=${one}`, { id: newId('suppression') }),
    ]
    expect(replies.map(refusal)).toEqual(new Array(8).fill([422, 'QUERY_BODY_CONFLICT']))
    expect(await rows()).toEqual(before)
  })

  test('a missing target is 422 and an unknown one is 404', async () => {
    expect(refusal(await remove(''))).toEqual([422, 'VALIDATION_ERROR'])
    expect(refusal(await remove('?channel=email'))).toEqual([422, 'VALIDATION_ERROR'])
    expect(refusal(await remove(`?id=${newId('suppression')}`))).toEqual([404, 'NOT_FOUND'])
    expect(refusal(await remove('?channel=email&value=nobody@example.com'))).toEqual([404, 'NOT_FOUND'])
    expect(refusal(await remove('/sup_wrong'))).toEqual([404, 'NOT_FOUND'])
  })

  test("a tenant's key cannot remove a suppression of the org", async () => {
    const tenantId = await t.tenant(acme.org.id)
    const key = await t.key(acme.org.id, { tenantId })
    const id = await insert('manual', 'org-level@example.com')
    expect(refusal(await remove(`/${id}`, undefined, key))).toEqual([403, 'TENANT_FORBIDDEN'])
    expect(refusal(await remove('?channel=email&value=org-level@example.com', undefined, key))).toEqual([
      404,
      'NOT_FOUND',
    ])
  })

  test('one of several concurrent removals succeeds', async () => {
    const id = await insert('manual', 'race@example.com')
    const statuses = (await Promise.all(Array.from({ length: 8 }, () => remove(`/${id}`)))).map((reply) => reply.status)
    expect(statuses.sort()).toEqual([200, 404, 404, 404, 404, 404, 404, 404])
  })
})

describe('listing', () => {
  test('filters by channel, value and reason', async () => {
    const org = await t.org({ name: 'Filters' })
    const key = org.keys.live
    await add(
      {
        items: [
          { channel: 'email', value: 'x@f.test' },
          { channel: 'sms', value: '+14155550111' },
        ],
      },
      key,
    )
    const values = async (query: string) =>
      (await t.ask('GET', `/api/v1/suppressions?${query}`, { key })).body.data.map(
        (row: { value: string }) => row.value,
      )
    expect(await values('channel=sms')).toEqual(['+14155550111'])
    expect(await values('value=X@F.test')).toEqual(['x@f.test'])
    expect(await values('value=%2B14155550111&channel=sms')).toEqual(['+14155550111'])
    expect(await values('reason=manual')).toHaveLength(2)
    expect(await values('reason=bounce')).toEqual([])
  })
})
