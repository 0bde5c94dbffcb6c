import { afterAll, describe, expect, test } from 'vitest'
import { keyClient, resetKeyCreationLimit } from '../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { beginOtherTransaction } from '../../../test/service/other-transaction.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import { ErrorBody } from '../../interfaces/http/openapi/refusals.ts'
import { newId } from '../../platform/ground/ids.ts'
import { mintKey } from '../keys/key-secret.ts'
import type { Plan } from '../orgs/plans.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const { live, test: testKey } = acme.keys
const keys = await keyClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

const at = '/api/v1/projects'
const create = (body: unknown, key = live) => t.ask('POST', at, { key, body })
const get = (id: string, key = live) => t.ask('GET', `${at}/${id}`, { key })
const list = (query = '', key = live) => t.ask('GET', `${at}${query}`, { key })
const patch = (id: string, body: unknown, key = live) => t.ask('PATCH', `${at}/${id}`, { key, body })
const remove = (id: string, key = live) => t.ask('DELETE', `${at}/${id}`, { key })
const createNamed = async (name: string, key = live): Promise<string> => (await create({ name }, key)).body.id
const idsOf = ({ body }: Reply): string[] => body.data.map((row: { id: string }) => row.id)

const addDomain = (projectId: string, name: string) =>
  t.database.sql(
    `insert into domains (org_id, id, project_id, name, status, dkim_status, region, created_environment,
       created_at, updated_at)
     values ($1, $2, $3, $4, 'pending', 'PENDING', 'us-east-1', 'live', $5, $5)`,
    [acme.org.id, newId('domain'), projectId, name, t.service.clock.now()],
  )

const keysBlock = {
  path: ['api_keys'],
  code: 'STILL_REFERENCED',
  message: 'API keys still belong to this project.',
}
const domainsBlock = {
  path: ['domains'],
  code: 'STILL_REFERENCED',
  message: 'Domains still belong to this project.',
}

describe('routes', () => {
  test('X-060 XD-18 a project can be created, read, listed, renamed and deleted', async () => {
    const before = t.service.clock.millis()
    const reply = await create({ name: '  Shop ', slug: 'web-shop', colour: 'ignored' })
    expect([reply.status, reply.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^prj_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
        name: 'Shop',
        slug: 'web-shop',
        is_default: false,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        updated_at: reply.body.created_at,
      },
    ])
    const { id, created_at } = reply.body
    expect(Date.parse(created_at)).toBeGreaterThanOrEqual(before)
    expect([await get(id), await list('?limit=1')].map(({ status }) => status)).toEqual([200, 200])
    expect((await get(id)).body).toEqual(reply.body)
    expect((await list('?limit=1')).body.data).toEqual([reply.body])

    const renamed = await patch(id, { name: 'Store' })
    expect([renamed.status, renamed.body]).toEqual([
      200,
      { ...reply.body, name: 'Store', updated_at: expect.any(String) },
    ])
    expect(renamed.body.updated_at >= created_at).toBe(true)
    const moved = await patch(id, { slug: 'store' })
    expect(moved.body).toMatchObject({ name: 'Store', slug: 'store', created_at })
    expect((await get(id)).body).toEqual(moved.body)
    expect((await patch(id, { slug: 'store', name: 'Store 2' })).body).toMatchObject({ slug: 'store' })

    const deleted = await remove(id)
    expect([deleted.status, deleted.body]).toEqual([200, { id, deleted: true }])
    for (const send of [() => get(id), () => patch(id, { name: 'x' }), () => remove(id)]) {
      expectRefusal(await leavesNoTrace(send), 'NOT_FOUND')
    }
    expect(idsOf(await list('?limit=100'))).not.toContain(id)
  })

  test('XD-18 the list returns all projects of the org in pages, newest first', async () => {
    const org = await t.org({ name: 'Pages' })
    const others = await t.org({ name: 'Not listed' })
    await createNamed('Elsewhere', others.keys.live)
    const ids: string[] = []
    for (const name of ['One', 'Two', 'Three']) ids.unshift(await createNamed(name, org.keys.live))
    const { projectId } = await keyClient(t, org)
    const one = await list('?limit=3', org.keys.live)
    const two = await list(`?limit=3&cursor=${one.body.next_cursor}`, org.keys.live)
    expect([...idsOf(one), ...idsOf(two)]).toEqual([...ids, projectId])
    expect(two.body).toMatchObject({ has_more: false, next_cursor: null })
    expect(two.body.data[0]).toMatchObject({ name: 'Default', slug: 'default', is_default: true })
  })

  test('XD-18 an invalid body is rejected with the path of the wrong field', async () => {
    const id = await createNamed('Sound')
    const cases: [body: unknown, path: (string | number)[], code: string][] = [
      [{ name: '' }, ['name'], 'too_small'],
      [{ name: ' ' }, ['name'], 'too_small'],
      [{ name: 'n'.repeat(101) }, ['name'], 'too_big'],
      [{ name: 7 }, ['name'], 'invalid_type'],
      ...['', '-a', 'a-', 'A', 'a_b', 'a b', 'é', 'a'.repeat(49), 'a\n'].map((slug): [unknown, string[], string] => [
        { name: 'x', slug },
        ['slug'],
        'invalid_string',
      ]),
      [{ name: 'x', slug: null }, ['slug'], 'invalid_type'],
      [[], [], 'invalid_type'],
    ]
    await leavesNoTrace(async () => {
      for (const [body, path, code] of cases) {
        const errors = [{ path, code, message: expect.any(String) }]
        expectRefusal(await create(body), 'VALIDATION_ERROR', { errors }, JSON.stringify(body))
        expectRefusal(await patch(id, body), 'VALIDATION_ERROR', { errors }, JSON.stringify(body))
      }
      const errors = [{ path: ['name'], code: 'required', message: 'Required.' }]
      expectRefusal(await create({ slug: 'nameless' }), 'VALIDATION_ERROR', { errors })
    })
    for (const slug of ['a', '7', 'a'.repeat(48), 'a--b', '0-0']) {
      expect((await create({ name: 'n'.repeat(100), slug })).body.slug).toBe(slug)
    }
  })

  test('XD-18 reading and writing projects require separate scopes', async () => {
    const id = await createNamed('Scoped')
    const reader = await t.key(acme.org.id, { scopes: ['read:projects'] })
    const writer = await t.key(acme.org.id, { scopes: ['write:projects'] })
    for (const send of [
      () => create({ name: 'x' }, reader),
      () => patch(id, { name: 'x' }, reader),
      () => remove(id, reader),
    ]) {
      expectRefusal(await leavesNoTrace(send), 'INSUFFICIENT_SCOPE')
    }
    for (const send of [() => list('', writer), () => get(id, writer)]) {
      expectRefusal(await send(), 'INSUFFICIENT_SCOPE')
    }
  })
})

describe('slugs', () => {
  test('XD-18 an omitted slug is derived from the name, with a suffix if it is taken', async () => {
    const slugOf = async (name: string): Promise<string> => (await create({ name })).body.slug
    expect(await slugOf('Web & Mobile  Shop!')).toBe('web-mobile-shop')
    expect(await slugOf('--Web & Mobile  Shop--')).toMatch(/^web-mobile-shop-[0-9a-z]{6}$/)
    expect(await slugOf('日本')).toBe('project')
    expect(await slugOf('!!!')).toMatch(/^project-[0-9a-z]{6}$/)
    expect(await slugOf('x'.repeat(100))).toBe('x'.repeat(48))
    expect(await slugOf('x'.repeat(90))).toMatch(/^x{41}-[0-9a-z]{6}$/)
    expect(await slugOf(`${'y'.repeat(47)} z`)).toBe('y'.repeat(47))
  })

  test('XD-18 concurrent projects with the same name are all created, each with its own slug', async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => create({ name: 'At once' })))
    expect(replies.map(({ status }) => status)).toEqual(new Array(8).fill(201))
    const slugs = replies.map(({ body }) => body.slug as string)
    expect(new Set(slugs).size).toBe(8)
    for (const slug of slugs) expect(slug).toMatch(/^at-once(?:-[0-9a-z]{6})?$/)
  })

  test('X-271 creating or updating a project with the slug of another project of the org gets 409', async () => {
    const id = await createNamed('Mover')
    await create({ name: 'Holder', slug: 'held' })
    for (const send of [
      () => create({ name: 'Second', slug: 'held' }),
      () => patch(id, { slug: 'held', name: 'New' }),
    ]) {
      expectRefusal(await leavesNoTrace(send), 'PROJECT_SLUG_TAKEN')
    }
    expect((await patch(id, { slug: 'mover' })).status).toBe(200)
    const other = await t.org({ name: 'Free slugs' })
    expect((await create({ name: 'Theirs', slug: 'held' }, other.keys.live)).body.slug).toBe('held')
  })

  test('X-271 of concurrent creations with the same slug one succeeds', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, (_, i) => createNamed(`Racer ${i}`)))
    const replies = await Promise.all([
      ...ids.map((id) => patch(id, { slug: 'contested' })),
      ...ids.map(() => create({ name: 'Racer', slug: 'contested' })),
    ])
    const won = replies.filter(({ status }) => status < 300)
    expect(won).toHaveLength(1)
    for (const reply of replies.filter((one) => !won.includes(one))) expectRefusal(reply, 'PROJECT_SLUG_TAKEN')
  })

  test('XD-18 concurrent updates of different fields are both kept', async () => {
    const id = await createNamed('Both')
    for (let i = 0; i < 10; i++) {
      await Promise.all([patch(id, { name: `Name ${i}` }), patch(id, { slug: `slug-${i}` })])
      expect((await get(id)).body).toMatchObject({ name: `Name ${i}`, slug: `slug-${i}` })
    }
  })
})

describe('deleting', () => {
  test('X-060 X-270 the default project can be renamed but not deleted, even when it is empty', async () => {
    const org = await t.org({ name: 'Defaults' })
    const { projectId } = await keyClient(t, org)
    const key = org.keys.live
    expectRefusal(await leavesNoTrace(() => remove(projectId, key)), 'PROJECT_IS_DEFAULT')
    await t.database.sql('delete from domains where org_id = $1', [org.org.id])
    expectRefusal(await leavesNoTrace(() => remove(projectId, key)), 'PROJECT_IS_DEFAULT')
    const renamed = await patch(projectId, { name: 'Main', slug: 'main' }, key)
    expect([renamed.status, renamed.body]).toMatchObject([200, { name: 'Main', slug: 'main', is_default: true }])
    expectRefusal(await leavesNoTrace(() => remove(projectId, key)), 'PROJECT_IS_DEFAULT')
  })

  test('X-057 X-058 X-059 X-269 a project that is not empty is not deleted, and the error lists what it contains without counts', async () => {
    const byKey = await createNamed('By key')
    const { id: keyId } = await keys.held({ projectId: byKey })
    await keys.held({ projectId: byKey, environment: 'test' })
    const byDomain = await createNamed('By domain')
    await addDomain(byDomain, 'one.test')
    await addDomain(byDomain, 'two.test')
    const byBoth = await createNamed('By both')
    await addDomain(byBoth, 'three.test')
    await keys.held({ projectId: byBoth })
    const byRevoked = await createNamed('By a revoked key')
    await keys.revoke((await keys.held({ projectId: byRevoked })).id)
    for (const [id, errors] of [
      [byKey, [keysBlock]],
      [byDomain, [domainsBlock]],
      [byBoth, [keysBlock, domainsBlock]],
      [byRevoked, [keysBlock]],
    ] as const) {
      const reply = await leavesNoTrace(() => remove(id))
      expectRefusal(reply, 'PROJECT_NOT_EMPTY', { errors })
      const { request_id: _, ...reported } = reply.body.error
      expect(JSON.stringify(reported)).not.toMatch(/\d/)
      expect(ErrorBody.safeParse(reply.body).error, 'matches the documented error').toBe(undefined)
      expect((await get(id)).status).toBe(200)
    }
    expect((await keys.get(keyId)).body.project_id).toBe(byKey)

    await t.database.sql('delete from domains where project_id = $1', [byDomain])
    expect((await remove(byDomain)).body).toEqual({ id: byDomain, deleted: true })
  })

  test('X-057 X-058 codes and jobs of a project prevent its deletion, as every table does that names a project', async () => {
    const id = await createNamed('By codes and jobs')
    const email = { channel: 'email', from: 'login@example.test', to: 'ada@example.com' }
    const { body: code } = await t.ask('POST', '/api/v1/verifications', { key: acme.keys.test, body: email })
    const { sql } = t.database
    await sql('update verifications set project_id = $2 where id = $1', [code.id, id])
    await sql(
      `insert into jobs (org_id, id, environment, project_id, audience_id, channel, status, from_address, template, total,
         scheduled, suppressed, deferred_quiet_hours, created_at)
       values ($1, $2, 'live', $3, $4, 'email', 'completed', 'a@example.test', 'news', 0, 0, 0, 0, $5)`,
      [acme.org.id, newId('job'), id, newId('audience'), t.service.clock.now()],
    )
    const block = (table: string, message: string) => ({ path: [table], code: 'STILL_REFERENCED', message })
    const errors = [
      block('jobs', 'Jobs still belong to this project.'),
      block('verifications', 'One-time codes still belong to this project.'),
    ]
    expectRefusal(await leavesNoTrace(() => remove(id)), 'PROJECT_NOT_EMPTY', { errors })
    await sql('delete from jobs where project_id = $1', [id])
    expectRefusal(await leavesNoTrace(() => remove(id)), 'PROJECT_NOT_EMPTY', { errors: errors.slice(1) })
    await sql('delete from verifications where project_id = $1', [id])
    expect((await remove(id)).status).toBe(200)

    const tables = await sql<{ name: string }>(
      `select c.relname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
       where a.attname = 'project_id' and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
    )
    expect(tables.map(({ name }) => name)).toEqual([
      // Figures of messages outlive them and do not need the project.
      'analytics_counts',
      'analytics_days',
      'api_keys',
      'domains',
      // The project of the message, for its figures.
      'events',
      'jobs',
      'messages',
      'verifications',
    ])
  })

  test('X-060 of concurrent deletions one succeeds and the others get 404', async () => {
    const id = await createNamed('Raced')
    const replies = await Promise.all(Array.from({ length: 8 }, () => remove(id)))
    const deleted = replies.filter(({ status }) => status === 200)
    expect(deleted).toHaveLength(1)
    for (const reply of replies.filter((one) => !deleted.includes(one))) expectRefusal(reply, 'NOT_FOUND')
  })

  test('X-057 X-269 a project is not deleted if a key is added to it during the deletion', async () => {
    const id = await createNamed('Filled')
    const { hash, prefix, lastFour } = mintKey('live')
    const other = await beginOtherTransaction(t.database)
    await other.sql(
      `insert into api_keys (org_id, id, hash, name, environment, prefix, last_four, scopes, project_id,
         created_at, updated_at)
       values ($1, $2, $3, 'concurrent', 'live', $4, $5, '{}', $6, $7, $7)`,
      [acme.org.id, newId('key'), hash, prefix, lastFour, id, t.service.clock.now()],
    )
    const reply = remove(id)
    await other.untilWaitedFor()
    await other.commit()
    expectRefusal(await reply, 'PROJECT_NOT_EMPTY', { errors: [keysBlock] })
    expect((await get(id)).status).toBe(200)
  })

  test('X-057 a key is not created in a project that is deleted during the creation', async () => {
    await resetKeyCreationLimit(t)
    const id = await createNamed('Deleted')
    const other = await beginOtherTransaction(t.database)
    await other.sql('delete from projects where org_id = $1 and id = $2', [acme.org.id, id])
    const reply = keys.create({ project_id: id })
    await other.untilWaitedFor()
    await other.commit()
    const errors = [{ path: ['project_id'], code: 'custom', message: 'There is no such project.' }]
    expectRefusal(await reply, 'VALIDATION_ERROR', { errors })
    expect(await t.database.sql('select 1 from api_keys where project_id = $1', [id])).toEqual([])
  })

  test('X-057 of a concurrent deletion and key creation exactly one succeeds', async () => {
    for (let i = 0; i < 8; i++) {
      await resetKeyCreationLimit(t)
      const id = await createNamed('Either')
      const [removed, added] = await Promise.all([remove(id), keys.create({ project_id: id })])
      expect([
        [200, 422],
        [409, 201],
      ]).toContainEqual([removed.status, added.status])
      expect((await get(id)).status).toBe(removed.status === 200 ? 404 : 200)
    }
  })
})

describe('restricted keys', () => {
  test('X-056 X-202 a project key cannot create projects or read other ones', async () => {
    const [own, other] = [await createNamed('Own'), await createNamed('Other')]
    const { key } = await keys.held({ projectId: own })
    expectRefusal(await leavesNoTrace(() => create({ name: 'More' }, key)), 'PROJECT_SCOPED_KEY')
    expect(idsOf(await list('?limit=100', key))).toEqual([own])
    expect((await get(own, key)).body.id).toBe(own)
    for (const send of [() => get(other, key), () => patch(other, { name: 'x' }, key), () => remove(other, key)]) {
      expectRefusal(await leavesNoTrace(send), 'NOT_FOUND')
    }
    expect((await patch(own, { name: 'Renamed' }, key)).body.name).toBe('Renamed')
    expectRefusal(await leavesNoTrace(() => remove(own, key)), 'PROJECT_NOT_EMPTY', { errors: [keysBlock] })
  })

  test('XD-09 a tenant key can read projects but not change them', async () => {
    const id = await createNamed('For the platform')
    const { key } = await keys.held({ tenantId: await t.tenant(acme.org.id) })
    for (const send of [() => create({ name: 'x' }, key), () => patch(id, { name: 'x' }, key), () => remove(id, key)]) {
      expectRefusal(await leavesNoTrace(send), 'TENANT_KEY_FORBIDDEN')
    }
    expect((await get(id, key)).status).toBe(200)
    expect(idsOf(await list('?limit=1', key))).toEqual([id])
  })

  test('X-201 XD-10 a test key can create projects, and can change only those created by a test key', async () => {
    const [live_, simulated] = [await createNamed('Live'), await createNamed('Simulated', testKey)]
    for (const send of [
      () => patch(live_, { name: 'x' }, testKey),
      () => remove(live_, testKey),
      () => remove(keys.projectId, testKey),
    ]) {
      expectRefusal(await leavesNoTrace(send), 'ENVIRONMENT_ESCALATION')
    }
    expect((await get(live_, testKey)).status).toBe(200)
    expect((await patch(simulated, { name: 'Renamed' }, testKey)).body.name).toBe('Renamed')
    expect((await patch(simulated, { name: 'By live' })).body.name).toBe('By live')
    expect((await remove(simulated, testKey)).body).toEqual({ id: simulated, deleted: true })
  })
})

describe('plan limit', () => {
  const newOrg = async (plan: Plan): Promise<CreatedOrg> => t.org({ plan, name: 'Planned' })
  const fill = (org: CreatedOrg, n: number) =>
    t.database.sql(
      `insert into projects (org_id, id, name, slug, created_environment, created_at, updated_at)
       select $1, id, 'filler', id, 'live', $3, $3 from unnest($2::text[]) as p (id)`,
      [org.org.id, Array.from({ length: n }, () => newId('project')), t.service.clock.now()],
    )

  test.for([
    ['free', 2],
    ['payg', 10],
    ['pro', 25],
    ['enterprise', 250],
  ] as const)(
    'X-279 XD-25 the %s plan allows %i projects and refuses the next with 402 until one is deleted',
    async ([plan, limit]) => {
      const org = await newOrg(plan)
      await fill(org, limit - 2)
      const id = await createNamed('Last', org.keys.live)
      const message = `The ${plan} plan allows ${limit} projects.`
      const reply = await leavesNoTrace(() => create({ name: 'One more' }, org.keys.live))
      expectRefusal(reply, 'PLAN_RESOURCE_LIMIT', { message })
      await remove(id, org.keys.live)
      expect((await create({ name: 'Again' }, org.keys.test)).status).toBe(201)
    },
  )

  test('X-279 a creation waits for a concurrent one and counts it', async () => {
    const org = await newOrg('free')
    const other = await beginOtherTransaction(t.database)
    await other.sql('select 1 from orgs where id = $1 for no key update', [org.org.id])
    await other.sql(
      `insert into projects (org_id, id, name, slug, created_environment, created_at, updated_at)
       values ($1, $2, 'under way', 'under-way', 'live', $3, $3)`,
      [org.org.id, newId('project'), t.service.clock.now()],
    )
    const reply = create({ name: 'One too many' }, org.keys.live)
    await other.untilWaitedFor()
    await other.commit()
    expectRefusal(await reply, 'PLAN_RESOURCE_LIMIT', { message: 'The free plan allows 2 projects.' })
  })

  test('X-279 concurrent creations reach the plan limit exactly', async () => {
    const org = await newOrg('payg')
    await fill(org, 4)
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, i) => create({ name: `Project ${i}` }, org.keys.live)),
    )
    const statuses = replies.map(({ status }) => status).sort()
    expect(statuses).toEqual([...new Array(5).fill(201), ...new Array(7).fill(402)])
    expect(await t.database.sql('select 1 from projects where org_id = $1', [org.org.id])).toHaveLength(10)
  })
})
