import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Reply, startTestService, type TestService } from '../../../test/service/service.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import { newId } from '../../platform/ground/ids.ts'

let t: TestService
let acme: CreatedOrg
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

beforeAll(async () => {
  t = await startTestService()
  acme = await t.org()
})
afterAll(() => t.stop())

const list = (query: string, key = acme.keys.live) => t.ask('GET', `/api/v1/suppressions${query}`, { key })
const add = (value: string, key = acme.keys.live, headers: Record<string, string> = {}) =>
  t.ask('POST', '/api/v1/suppressions', { key, body: { channel: 'email', value }, headers })
const refusal = (reply: Reply) => [reply.status, reply.body?.error?.code]

/** Reads all pages and returns their values in order. */
const readPages = async (query: string, key = acme.keys.live): Promise<string[]> => {
  const seen: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await list(`?${query}&cursor=${cursor}`, key)
    seen.push(...body.data.map((row: { value: string }) => row.value))
    expect(body.has_more).toBe(body.next_cursor !== null)
    if (!body.has_more) return seen
    cursor = body.next_cursor
  }
}

describe('lists', () => {
  let org: CreatedOrg
  beforeAll(async () => {
    org = await t.org({ name: 'Many' })
    // Seven rows per millisecond, so that pages end within and between groups of equal creation times.
    const rows = Array.from({ length: 250 }, (_, i) => i)
    await t.database.sql(
      `insert into suppressions
         (org_id, id, channel, value, reason, source, created_environment, created_at, updated_at)
       select $1, id, 'email', value, 'manual', 'api', 'live', at, at
       from unnest($2::text[], $3::text[], $4::timestamptz[]) as r (id, value, at)`,
      [
        org.org.id,
        rows.map((i) => newId('suppression', 1_700_000_000_000 + Math.floor(i / 7))),
        rows.map((i) => `row${i}@example.com`),
        rows.map((i) => new Date(1_700_000_000_000 + Math.floor(i / 7))),
      ],
    )
  })
  const newestFirst = Array.from({ length: 250 }, (_, i) => `row${249 - i}@example.com`)

  test('S-008 a page has 20 items by default, and limit can be 1 to 100', async () => {
    expect((await list('', org.keys.live)).body.data).toHaveLength(20)
    expect((await list('?limit=1', org.keys.live)).body.data).toHaveLength(1)
    expect((await list('?limit=100', org.keys.live)).body.data).toHaveLength(100)
    for (const limit of ['0', '101', '-1', '1.5', 'ten', '', '1e1', ' 5', '999999999999']) {
      const reply = await list(`?limit=${encodeURIComponent(limit)}`, org.keys.live)
      expect(refusal(reply), limit).toEqual([422, 'VALIDATION_ERROR'])
      expect(reply.body.error.errors[0].path).toEqual(['limit'])
    }
  })

  test('S-009 S-010 pages of any size list all items newest first without gaps or duplicates', async () => {
    for (const limit of [1, 7, 20, 83, 100])
      expect(await readPages(`limit=${limit}`, org.keys.live)).toEqual(newestFirst)
    const page = (await list('?limit=100', org.keys.live)).body
    expect(Object.keys(page)).toEqual(['data', 'has_more', 'next_cursor'])
    expect(page.next_cursor).toMatch(/^[A-Za-z0-9_-]+$/)
  })

  test('S-009 items added while paging do not shift or repeat pages', async () => {
    const first = (await list('?limit=100', org.keys.live)).body
    await add('late@example.com', org.keys.live)
    const second = (await list(`?limit=100&cursor=${first.next_cursor}`, org.keys.live)).body
    const values = [...first.data, ...second.data].map((row: { value: string }) => row.value)
    expect(values).toEqual(newestFirst.slice(0, 200))
    const [row] = (await list('?value=late@example.com', org.keys.live)).body.data
    await t.ask('DELETE', `/api/v1/suppressions/${row.id}`, { key: org.keys.live })
  })

  test('S-010 the last page and an empty list have has_more false and no cursor', async () => {
    expect((await list('', (await t.org({ name: 'Empty' })).keys.live)).body).toEqual({
      data: [],
      has_more: false,
      next_cursor: null,
    })
    const exact = await list('?value=row5@example.com&limit=1', org.keys.live)
    expect(exact.body).toMatchObject({ has_more: false, next_cursor: null })
  })

  test('S-011 an empty cursor returns the first page', async () => {
    expect((await list('?cursor=', org.keys.live)).body).toEqual((await list('', org.keys.live)).body)
  })

  test('S-012 an invalid cursor returns 422 INVALID_CURSOR', async () => {
    const good = (await list('?limit=1', org.keys.live)).body.next_cursor as string
    for (const cursor of [
      'x',
      '%00',
      '\0',
      `${good}\0`,
      `${good}x`,
      good.slice(1),
      good.toUpperCase(),
      'eyJjIjoxfQ',
      "'; drop table orgs",
      '🦊',
      'a'.repeat(5_000),
    ]) {
      const reply = await list(`?cursor=${encodeURIComponent(cursor)}`, org.keys.live)
      expect(refusal(reply), cursor).toEqual([422, 'INVALID_CURSOR'])
    }
  })

  test('a repeated query parameter is rejected', async () => {
    expect(refusal(await list('?limit=1&limit=2', org.keys.live))).toEqual([422, 'VALIDATION_ERROR'])
  })

  test('a page is read in order from an index', async () => {
    const plan = async (text: string) => {
      await t.database.sql('analyze suppressions')
      const rows = await t.database.sql<{ 'QUERY PLAN': string }>(`explain ${text}`)
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    }
    const page = await plan(
      `select id, channel, value, reason from suppressions
       where org_id = '${org.org.id}' and (created_at, id) < (now(), 'x')
       order by created_at desc, id desc limit 21`,
    )
    expect(page).toMatch(/Index Scan using suppressions_page/)
    expect(page).not.toMatch(/Sort/)
  })
})

describe('items', () => {
  test('S-006 S-007 ids have a prefix, and timestamps are ISO 8601 in UTC', async () => {
    const created = await add('Shape@Example.com')
    expect(created.status).toBe(201)
    expect(created.body).toEqual({
      id: expect.stringMatching(/^sup_[0-9a-z]{26}$/),
      channel: 'email',
      value: 'shape@example.com',
      reason: 'manual',
      scope: 'all',
      tenant_id: null,
      source: 'api',
      message_id: null,
      created_at: expect.stringMatching(iso),
      updated_at: expect.stringMatching(iso),
    })
    expect((await t.ask('GET', `/api/v1/suppressions/${created.body.id}`, { key: acme.keys.live })).body).toEqual(
      created.body,
    )
  })

  test('S-004 X-288 a key of another org can neither read nor change an item', async () => {
    const { body: row } = await add('mine@example.com')
    const other = await t.org({ name: 'Other' })
    const path = `/api/v1/suppressions/${row.id}`
    expect(refusal(await t.ask('GET', path, { key: other.keys.live }))).toEqual([404, 'NOT_FOUND'])
    expect(refusal(await t.ask('DELETE', path, { key: other.keys.live }))).toEqual([404, 'NOT_FOUND'])
    expect((await list('', other.keys.live)).body.data).toEqual([])
    expect((await t.ask('GET', path, { key: acme.keys.live })).status).toBe(200)
    const unknown = await t.ask('GET', `/api/v1/suppressions/${newId('suppression')}`, {
      key: other.keys.live,
    })
    const foreign = await t.ask('GET', path, { key: other.keys.live })
    const same = ({ body }: Reply) => ({ ...body.error, request_id: '' })
    expect(same(foreign)).toEqual(same(unknown))
  })

  test('S-005 a tenant key reads and writes only items of its tenant', async () => {
    const [one, two] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
    const keyOne = await t.key(acme.org.id, { tenantId: one })
    const keyTwo = await t.key(acme.org.id, { tenantId: two })
    const { body: row } = await add('tenant@example.com', keyOne)
    expect(row.tenant_id).toBe(one)
    expect((await list('', keyOne)).body.data).toEqual([row])
    expect((await list('', keyTwo)).body.data).toEqual([])
    expect((await list('?value=tenant@example.com')).body.data).toEqual([row])
    const path = `/api/v1/suppressions/${row.id}`
    expect(refusal(await t.ask('GET', path, { key: keyTwo }))).toEqual([404, 'NOT_FOUND'])
    expect(refusal(await t.ask('DELETE', path, { key: keyTwo }))).toEqual([403, 'TENANT_FORBIDDEN'])
    expect((await t.ask('GET', path, { key: keyOne })).body).toEqual(row)
  })

  test('S-005 a platform key can name a tenant per request, which is created once on first use', async () => {
    const named = { 'x-service-tenant-ref': 'Customer 42' }
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => add(`ref${i}@example.com`, acme.keys.live, named)),
    )
    const tenants = new Set(replies.map((reply) => reply.body.tenant_id))
    expect([...tenants]).toEqual([expect.stringMatching(/^ten_/)])
    const rows = await t.database.sql(
      "select slug, name, external_ref, status from tenants where external_ref = 'customer 42'",
    )
    expect(rows).toEqual([
      {
        slug: 'customer-42',
        name: expect.stringMatching(/^Customer 42$/),
        external_ref: 'customer 42',
        status: 'active',
      },
    ])
    const inside = await t.ask('GET', '/api/v1/suppressions?limit=100', {
      key: acme.keys.live,
      headers: { 'x-service-tenant-ref': 'CUSTOMER 42' },
    })
    expect(inside.body.data).toHaveLength(20)
  })

  test('S-003 a live key can change items of a test key, but a test key cannot change live items', async () => {
    const { body: live } = await add('live@example.com')
    const { body: test } = await add('test@example.com', acme.keys.test)
    const remove = (id: string, key: string) => t.ask('DELETE', `/api/v1/suppressions/${id}`, { key })
    expect(refusal(await remove(live.id, acme.keys.test))).toEqual([403, 'ENVIRONMENT_ESCALATION'])
    expect((await remove(test.id, acme.keys.test)).body).toEqual({ id: test.id, deleted: true })
    expect((await remove(live.id, acme.keys.live)).body).toEqual({ id: live.id, deleted: true })
  })
})
