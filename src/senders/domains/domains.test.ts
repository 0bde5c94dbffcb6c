import { createPublicKey } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { type DomainClient, domainClient, eventsOf, report } from '../../../test/clients/domain-client.ts'
import { advance, keyClient, keyIdOf } from '../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { beginOtherTransaction } from '../../../test/service/other-transaction.ts'
import { type Reply, startTestService, testService } from '../../../test/service/service.ts'
import type { Plan } from '../../customers/orgs/plans.ts'
import { secondsToNextDay } from '../../customers/usage/periods.ts'
import { newId } from '../../platform/ground/ids.ts'
import { newDkimKey } from './dkim-key.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const { live, test: testKey } = acme.keys
const keys = await keyClient(t, acme)
const { create, added, get, list, verify, patch, remove, startWarmup, endWarmup } = domainClient(t, acme)
const leavesNoTrace = await watchTables(t.database)
const liveKeyId = await keyIdOf(t, live)

const idsOf = ({ body }: Reply): string[] => body.data.map((row: { id: string }) => row.id)
const project = async (name: string): Promise<string> =>
  (await t.ask('POST', '/api/v1/projects', { key: live, body: { name } })).body.id
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const byKey = { via: 'api_key', api_key_id: liveKeyId }

describe('adding', () => {
  test('A-142 XD-19 adding a domain by name returns the records to publish and is audited', async () => {
    const { result: reply, trail } = await withTrail(t.database, acme.org.id, () =>
      create({ name: ' Mail.Example.COM. ', colour: 'ignored' }),
    )
    const { id } = reply.body
    const pending = { ttl: 3600, status: 'pending' }
    const advice = { ...pending, required: false }
    expect([reply.status, reply.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^dom_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
        name: 'mail.example.com',
        status: 'pending',
        dkim_status: 'PENDING',
        region: 'us-east-1',
        project_id: keys.projectId,
        tenant_id: null,
        ip_pool_id: null,
        inbound: false,
        warmup: null,
        created_at: instant,
        verified_at: null,
        last_checked_at: null,
        records: [
          {
            record: 'DKIM',
            type: 'TXT',
            name: 'svc1._domainkey.mail.example.com',
            priority: null,
            value: expect.stringMatching(/^v=DKIM1; k=rsa; p=[A-Za-z0-9+/]+=*$/),
            ...pending,
            required: true,
          },
          {
            record: 'RETURN_PATH',
            type: 'MX',
            name: 'send.mail.example.com',
            priority: 10,
            value: 'feedback.us-east-1.tidings.test',
            ...advice,
          },
          {
            record: 'SPF',
            type: 'TXT',
            name: 'send.mail.example.com',
            priority: null,
            value: 'v=spf1 include:spf.tidings.test ~all',
            ...advice,
          },
          {
            record: 'DMARC',
            type: 'TXT',
            name: '_dmarc.mail.example.com',
            priority: null,
            value: 'v=DMARC1; p=none;',
            ...advice,
          },
        ],
      },
    ])
    expect((await get(id)).body).toEqual(reply.body)
    expect((await list('?limit=1')).body.data).toEqual([reply.body])
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'domain.added',
        resource_type: 'domain',
        resource_id: id,
        actor_user_id: null,
        metadata: {
          name: 'mail.example.com',
          region: 'us-east-1',
          project_id: keys.projectId,
          tenant_id: null,
          ...byKey,
        },
      }),
    ])
    expect(await eventsOf(t.database, id)).toEqual([])
  })

  test('XD-19 a new domain has the requested region, return path and inbound setting', async () => {
    const { body } = await create({
      name: 'requested.example',
      region: 'ap-south-1',
      return_path: 'Bounce-1',
      inbound: true,
      project_id: null,
      tenant_id: null,
    })
    expect(body).toMatchObject({ region: 'ap-south-1', inbound: true, project_id: keys.projectId })
    expect(body.records.map(({ record, name, value }: Record<string, string>) => [record, name, value])).toEqual([
      ['DKIM', 'svc1._domainkey.requested.example', expect.any(String)],
      ['RETURN_PATH', 'bounce-1.requested.example', 'feedback.ap-south-1.tidings.test'],
      ['SPF', 'bounce-1.requested.example', 'v=spf1 include:spf.tidings.test ~all'],
      ['DMARC', '_dmarc.requested.example', 'v=DMARC1; p=none;'],
      ['INBOUND', 'requested.example', 'inbound.ap-south-1.tidings.test'],
    ])
  })

  test('XD-19 each domain has its own 2048-bit key, and the private key is stored encrypted', async () => {
    const own = await testService({ newDkimKey })
    const org = await own.org()
    const domains = domainClient(own, org)
    const keyIn = (reply: Reply): string => reply.body.records[0].value.replace('v=DKIM1; k=rsa; p=', '')
    const [one, two] = [
      keyIn(await domains.create({ name: 'one.example' })),
      keyIn(await domains.create({ name: 'two.example' })),
    ]
    expect(one).not.toBe(two)
    for (const key of [one, two]) {
      const read = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
      expect([read.asymmetricKeyType, read.asymmetricKeyDetails?.modulusLength]).toEqual(['rsa', 2048])
    }
    const rows = await own.database.sql<{ dkim_private_key: string }>('select dkim_private_key from domains')
    expect(rows).toHaveLength(3)
    for (const row of rows) expect(row.dkim_private_key).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]+$/)
  })

  test('XD-19 an invalid request is rejected with the path of the invalid field', async () => {
    const invalidNames = [
      'com',
      'co.uk',
      'ann@example.com',
      '192.0.2.1',
      '[::1]',
      'localhost',
      'a_b.com',
      'http://a.com',
    ]
    const cases: [body: unknown, path: string[], code: string][] = [
      ...invalidNames.map((name): [unknown, string[], string] => [{ name }, ['name'], 'custom']),
      [{ name: '' }, ['name'], 'too_small'],
      [{ name: 'a'.repeat(1_001) }, ['name'], 'too_big'],
      [{ name: 7 }, ['name'], 'invalid_type'],
      [{}, ['name'], 'required'],
      [{ name: 'a.example', region: 'mars-1' }, ['region'], 'invalid_enum'],
      ...['', '-a', 'a.b', 'é', 'a'.repeat(64)].map((return_path): [unknown, string[], string] => [
        { name: 'a.example', return_path },
        ['return_path'],
        'invalid_string',
      ]),
      [{ name: `${`${'a'.repeat(63)}.`.repeat(3)}com`, return_path: 'b'.repeat(63) }, ['return_path'], 'custom'],
      [{ name: 'a.example', inbound: 'yes' }, ['inbound'], 'invalid_type'],
      [{ name: 'a.example', project_id: newId('project') }, ['project_id'], 'custom'],
      [{ name: 'a.example', tenant_id: newId('tenant') }, ['tenant_id'], 'custom'],
    ]
    await leavesNoTrace(async () => {
      for (const [body, path, code] of cases) {
        const errors = [{ path, code, message: expect.any(String) }]
        expectRefusal(await create(body), 'VALIDATION_ERROR', { errors }, JSON.stringify(body))
      }
    })
  })

  test('X-312 X-267 a name is unique in its project whatever its case, script or trailing dot', async () => {
    await added('bücher.Example')
    for (const name of ['BÜCHER.example', 'xn--bcher-kva.EXAMPLE', ' bücher.example. ']) {
      expectRefusal(await leavesNoTrace(() => create({ name })), 'DOMAIN_ALREADY_ADDED', {}, name)
    }
    const other = await project('Other')
    const second = await create({ name: 'Bücher.example', project_id: other })
    expect([second.status, second.body.project_id]).toEqual([201, other])
    // Each row publishes its key under its own selector.
    expect(second.body.records[0].name).toBe('svc2._domainkey.xn--bcher-kva.example')
    expectRefusal(await create({ name: 'bücher.example', project_id: other }), 'DOMAIN_ALREADY_ADDED')
    const elsewhere = domainClient(t, await t.org({ name: 'Elsewhere' }))
    const third = await elsewhere.create({ name: 'bücher.example' })
    expect([third.status, third.body.records[0].name]).toEqual([201, 'svc3._domainkey.xn--bcher-kva.example'])
    // A subdomain is a separate domain.
    expect((await create({ name: 'mail.bücher.example' })).status).toBe(201)
  })

  test('X-312 concurrent additions of one name create one domain', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, i) => create({ name: i % 2 ? 'At-Once.example' : 'at-once.example' })),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([201, ...new Array(7).fill(409)])
    for (const reply of replies.filter(({ status }) => status === 409)) {
      expectRefusal(reply, 'DOMAIN_ALREADY_ADDED')
    }
  })

  describe('one name in several orgs', () => {
    const orgs = async (n: number) =>
      Promise.all(Array.from({ length: n }, async (_, i) => domainClient(t, await t.org({ name: `Org ${i}` }))))
    const selectorOf = ({ status, body }: Reply) => [status, body.records[0].name.split('.')[0]]

    test('XD-19 each org publishes its key under the first free selector and sees only its own row', async () => {
      const [one, two, three] = (await orgs(3)) as [DomainClient, DomainClient, DomainClient]
      const name = 'shared.example'
      const replies = [await one.create({ name }), await two.create({ name })]
      expect(replies.map(selectorOf)).toEqual([
        [201, 'svc1'],
        [201, 'svc2'],
      ])
      // An org never sees the rows of other orgs.
      expect((await two.list('?limit=100')).body.data).toHaveLength(2)
      const [firstId] = replies.map(({ body }) => body.id)
      await one.remove(firstId)
      expect(selectorOf(await three.create({ name }))).toEqual([201, 'svc1'])
      expect(selectorOf(await one.create({ name }))).toEqual([201, 'svc3'])
      expect(selectorOf(await one.create({ name: 'mail.shared.example' }))).toEqual([201, 'svc1'])
    })

    test('XD-19 concurrent additions never share a selector', async () => {
      const name = 'rushed.example'
      const replies = await Promise.all((await orgs(8)).map((own) => own.create({ name })))
      expect(replies.map(selectorOf).sort()).toEqual(Array.from({ length: 8 }, (_, i) => [201, `svc${i + 1}`]))
    })

    test('XD-19 an addition waits for a concurrent one and uses the next selector', async () => {
      const name = 'waited.example'
      const [one] = (await orgs(1)) as [DomainClient]
      const { domainId } = await keyClient(t, acme)
      const other = await beginOtherTransaction(t.database)
      await other.sql("select pg_advisory_xact_lock(hashtextextended('domains.name ' || $1, 0))", [name])
      const reply = one.create({ name })
      await other.untilWaitedFor()
      await other.sql(
        `insert into domains (org_id, id, project_id, name, status, dkim_status, region, created_environment,
           created_at, updated_at)
         select org_id, 'dom_waited', project_id, $2, status, dkim_status, region, 'live', created_at, updated_at
         from domains where id = $1`,
        [domainId, name],
      )
      await other.commit()
      expect(selectorOf(await reply)).toEqual([201, 'svc2'])
    })
  })

  test('X-313 X-268 the domain of the service and its subdomains are reserved, whatever their case', async () => {
    const names = ['tidings.test', 'Tidings.TEST.', 'mail.tidings.test', `${acme.org.slug}.Sandbox.tidings.test`]
    for (const name of names) {
      expectRefusal(await leavesNoTrace(() => create({ name })), 'DOMAIN_RESERVED', {}, name)
    }
    expect((await create({ name: 'not-tidings.test' })).status).toBe(201)
  })
})

describe('reading', () => {
  test('XD-19 the list returns all domains of the org, newest first, in pages', async () => {
    const org = await t.org({ name: 'Pages' })
    const own = domainClient(t, org)
    const { domainId } = await keyClient(t, org)
    const ids: string[] = [domainId]
    for (const name of ['one.example', 'two.example', 'three.example']) ids.unshift(await own.added(name))
    const one = await own.list('?limit=3')
    const two = await own.list(`?limit=3&cursor=${one.body.next_cursor}`)
    expect([...idsOf(one), ...idsOf(two)]).toEqual(ids)
    expect(two.body).toMatchObject({ has_more: false, next_cursor: null })
    expect(two.body.data[0]).toMatchObject({
      name: 'example.test',
      status: 'verified',
      dkim_status: 'SUCCESS',
    })
    const statuses = two.body.data[0].records.map(({ status }: { status: string }) => status)
    expect(statuses).toEqual(['found', 'found', 'found', 'found'])
  })

  test('XD-19 reading and writing domains need separate scopes', async () => {
    const id = await added('scoped.example')
    const reader = await t.key(acme.org.id, { scopes: ['read:domains'] })
    const writer = await t.key(acme.org.id, { scopes: ['write:domains'] })
    for (const request of [
      () => create({ name: 'x.example' }, reader),
      () => verify(id, reader),
      () => patch(id, { inbound: true }, reader),
      () => startWarmup(id, {}, reader),
      () => endWarmup(id, reader),
      () => remove(id, reader),
      () => get(id, writer),
      () => list('', writer),
    ]) {
      expectRefusal(await leavesNoTrace(request), 'INSUFFICIENT_SCOPE')
    }
  })
})

describe('changing and removing', () => {
  test('XD-19 turning inbound on and off adds and removes its record', async () => {
    const id = await added('inbound.example')
    const records = (reply: Reply) => reply.body.records.map(({ record }: { record: string }) => record)
    expect(records(await patch(id, { inbound: true }))).toContain('INBOUND')
    expect(records(await patch(id, { inbound: false }))).not.toContain('INBOUND')
    const errors = [{ path: ['inbound'], code: 'invalid_type', message: expect.any(String) }]
    expectRefusal(await patch(id, { inbound: null }), 'VALIDATION_ERROR', { errors })
  })

  test('A-143 X-109 concurrent removals return the id once and leave one audit entry and one event', async () => {
    const tenantId = await t.tenant(acme.org.id)
    const id = await added('removed.example', live, { tenant_id: tenantId })
    const { result: replies, trail } = await withTrail(t.database, acme.org.id, () =>
      Promise.all(Array.from({ length: 5 }, () => remove(id))),
    )
    const removed = replies.filter(({ status }) => status === 200)
    expect(removed.map(({ body }) => body)).toEqual([{ id, deleted: true }])
    for (const reply of replies.filter((one) => !removed.includes(one))) expectRefusal(reply, 'NOT_FOUND')
    const about = { project_id: keys.projectId }
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'domain.removed',
        resource_type: 'domain',
        resource_id: id,
        metadata: { name: 'removed.example', ...about, tenant_id: tenantId, ...byKey },
      }),
    ])
    expect(await eventsOf(t.database, id)).toEqual([
      {
        event: 'domain.removed',
        tenant_id: tenantId,
        environment: null,
        data: { id, domain: 'removed.example', status: 'removed', ...about, removed_at: instant },
      },
    ])
    for (const request of [
      () => get(id),
      () => verify(id),
      () => patch(id, { inbound: true }),
      () => remove(id),
      () => startWarmup(id),
      () => endWarmup(id),
    ]) {
      expectRefusal(await leavesNoTrace(request), 'NOT_FOUND')
    }
    expect((await create({ name: 'removed.example' })).body.status).toBe('pending')
  })

  test('X-010 a key that was restricted to a removed domain may not use any other domain', async () => {
    const id = await added('restricted.test')
    const restricted = await keys.held({ allowedDomainIds: [id] })
    await remove(id)
    expect((await keys.get(restricted.id)).body.allowed_domain_ids).toEqual([id])
    const caller = { orgId: acme.org.id, tenantId: null, environment: 'live', projectId: null } as const
    const { senders } = t.service.modules
    for (const name of ['restricted.test', 'example.test']) {
      const send = async () => senders.resolve({ ...caller, allowedDomainIds: [id] }, name)
      await expect(send()).rejects.toMatchObject({
        code: 'DOMAIN_NOT_ALLOWED_FOR_KEY',
      })
    }
  })

  test('X-057 adding a domain fails when the project is deleted meanwhile', async () => {
    const id = await project('Deleted meanwhile')
    const other = await beginOtherTransaction(t.database)
    await other.sql('delete from projects where org_id = $1 and id = $2', [acme.org.id, id])
    const reply = create({ name: 'too-late.example', project_id: id })
    await other.untilWaitedFor()
    await other.commit()
    const errors = [{ path: ['project_id'], code: 'custom', message: 'There is no such project.' }]
    expectRefusal(await reply, 'VALIDATION_ERROR', { errors })
  })

  test('X-057 a project cannot be deleted while it has a domain', async () => {
    const inProject = await project('Holds a domain')
    const id = await added('in-project.example', live, { project_id: inProject })
    const deleteProject = () => t.ask('DELETE', `/api/v1/projects/${inProject}`, { key: live })
    expect((await deleteProject()).body.error.code).toBe('PROJECT_NOT_EMPTY')
    await remove(id)
    expect((await deleteProject()).status).toBe(200)
  })
})

describe('keys that are bound to a tenant, a project or test mode', () => {
  test("X-036 X-037 XD-09 a tenant's key adds, reads and changes only its own tenant's domains", async () => {
    const [own, sibling] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
    const key = await t.key(acme.org.id, { tenantId: own })
    const [ofOrg, ofSibling] = [
      await added('of-org.example'),
      await added('of-sibling.example', live, { tenant_id: sibling }),
    ]
    const mine = await create({ name: 'of-own.example' }, key)
    expect([mine.status, mine.body.tenant_id]).toEqual([201, own])
    expect((await create({ name: 'of-own-2.example', tenant_id: own }, key)).status).toBe(201)
    for (const tenant_id of [sibling, null, newId('tenant')]) {
      const request = () => create({ name: 'x.example', tenant_id }, key)
      expectRefusal(await leavesNoTrace(request), 'TENANT_FORBIDDEN')
    }
    for (const id of [ofOrg, ofSibling]) {
      expectRefusal(await get(id, key), 'NOT_FOUND')
      for (const request of [
        () => verify(id, key),
        () => patch(id, { inbound: true }, key),
        () => startWarmup(id, {}, key),
        () => endWarmup(id, key),
        () => remove(id, key),
      ]) {
        expectRefusal(await leavesNoTrace(request), 'TENANT_FORBIDDEN')
      }
    }
    expect(idsOf(await list('?limit=100', key))).toContain(mine.body.id)
    for (const id of [ofOrg, ofSibling]) expect(idsOf(await list('?limit=100', key))).not.toContain(id)
    expect((await patch(mine.body.id, { inbound: true }, key)).body.inbound).toBe(true)
    const changePool = () => patch(mine.body.id, { ip_pool_id: null }, key)
    expectRefusal(await leavesNoTrace(changePool), 'TENANT_KEY_FORBIDDEN')
    expect((await remove(mine.body.id, key)).status).toBe(200)
  })

  test('XD-18 a key that is bound to a project adds domains to it and finds no others', async () => {
    const [own, other] = [await project('Own'), await project('Not own')]
    const key = await t.key(acme.org.id, { projectId: own })
    const elsewhere = await added('elsewhere.example', live, { project_id: other })
    const mine = await create({ name: 'elsewhere.example' }, key)
    expect([mine.status, mine.body.project_id]).toEqual([201, own])
    const errors = [{ path: ['project_id'], code: 'custom', message: 'There is no such project.' }]
    expectRefusal(await create({ name: 'y.example', project_id: other }, key), 'VALIDATION_ERROR', { errors })
    expect(idsOf(await list('', key))).toEqual([mine.body.id])
    for (const request of [
      () => get(elsewhere, key),
      () => verify(elsewhere, key),
      () => patch(elsewhere, { inbound: true }, key),
      () => remove(elsewhere, key),
    ]) {
      expectRefusal(await leavesNoTrace(request), 'NOT_FOUND')
    }
  })

  test('X-201 XD-10 a test key adds domains and changes only domains that a test key added', async () => {
    const ofLive = await added('of-live.example')
    const ofTest = await added('of-test.example', testKey)
    for (const request of [
      () => verify(ofLive, testKey),
      () => patch(ofLive, { inbound: true }, testKey),
      () => startWarmup(ofLive, {}, testKey),
      () => endWarmup(ofLive, testKey),
      () => remove(ofLive, testKey),
    ]) {
      expectRefusal(await leavesNoTrace(request), 'ENVIRONMENT_ESCALATION')
    }
    expect((await get(ofLive, testKey)).status).toBe(200)
    expect((await get(ofTest)).body).not.toHaveProperty('created_environment')
    expect((await patch(ofTest, { inbound: true }, testKey)).body.inbound).toBe(true)
    expect((await patch(ofTest, { inbound: false })).body.inbound).toBe(false)
    expect((await remove(ofTest, testKey)).body).toEqual({ id: ofTest, deleted: true })
  })

  test('X-201 XD-21 a test key cannot assign a domain to a pool or remove it from one', async () => {
    const pool = await t.ask('POST', '/api/v1/ip-pools', { key: live, body: { name: 'of-live' } })
    const id = await added('not-pooled.example', testKey)
    for (const body of [{ ip_pool_id: pool.body.id, inbound: true }, { ip_pool_id: null }]) {
      expectRefusal(await leavesNoTrace(() => patch(id, body, testKey)), 'ENVIRONMENT_ESCALATION')
    }
    expect((await patch(id, { ip_pool_id: pool.body.id })).body.ip_pool_id).toBe(pool.body.id)
    expectRefusal(await leavesNoTrace(() => patch(id, { ip_pool_id: null }, testKey)), 'ENVIRONMENT_ESCALATION')
    expect((await patch(id, { inbound: true }, testKey)).body).toMatchObject({
      inbound: true,
      ip_pool_id: pool.body.id,
    })
  })
})

describe('a domain that a test key added', () => {
  const environmentOf = async (id: string) =>
    (
      await t.database.sql<{ created_environment: string }>('select created_environment from domains where id = $1', [
        id,
      ])
    )[0]?.created_environment
  const rows = async (name: string) => t.database.sql('select 1 from domains where name = $1', [name])

  test('X-052 XD-19 is promoted when a live key adds the name, stays verified and gets an audit entry', async () => {
    const id = await added('grown.test', testKey)
    const verified = (await verify(id, testKey)).body
    expect(verified.status).toBe('verified')
    const { result: reply, trail } = await withTrail(t.database, acme.org.id, () => create({ name: 'Grown.test' }))
    expect([reply.status, reply.body]).toEqual([201, verified])
    expect((await get(id)).body).toEqual(verified)
    expect([await environmentOf(id), await rows('grown.test')]).toEqual(['live', [expect.anything()]])
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'domain.added',
        resource_type: 'domain',
        resource_id: id,
        metadata: {
          name: 'grown.test',
          region: 'us-east-1',
          project_id: keys.projectId,
          tenant_id: null,
          ...byKey,
        },
      }),
    ])
    expect((await eventsOf(t.database, id)).map(({ event }) => event)).toEqual(['domain.verified'])
    for (const key of [live, testKey]) {
      expectRefusal(await leavesNoTrace(() => create({ name: 'grown.test' }, key)), 'DOMAIN_ALREADY_ADDED')
    }
  })

  test('X-052 XD-21 gets the requested settings when promoted, and changed records are checked again', async () => {
    const id = await added('moved.test', testKey, { return_path: 'old', inbound: true })
    await verify(id, testKey)
    const pool = await t.ask('POST', '/api/v1/ip-pools', { key: live, body: { name: 'former' } })
    await patch(id, { ip_pool_id: pool.body.id })
    const before = (await get(id)).body
    const tenantId = await t.tenant(acme.org.id)
    const { status, body } = await create({
      name: 'moved.test',
      region: 'eu-west-1',
      return_path: 'new',
      tenant_id: tenantId,
      inbound: true,
    })
    expect([status, body]).toEqual([
      201,
      {
        ...before,
        region: 'eu-west-1',
        tenant_id: tenantId,
        ip_pool_id: null,
        records: [
          before.records[0],
          expect.objectContaining({ name: 'new.moved.test', status: 'pending' }),
          expect.objectContaining({ name: 'new.moved.test', status: 'pending' }),
          before.records[3],
          expect.objectContaining({ record: 'INBOUND', status: 'pending' }),
        ],
      },
    ])
    expect(body.status).toBe('verified')
    expect((await t.ask('GET', `/api/v1/ip-pools/${pool.body.id}`, { key: live })).body.domain_ids).toEqual([])
  })

  test('X-052 X-279 is promoted even when the plan allows no more domains', async () => {
    const org = await t.org({ plan: 'free', name: 'Full' })
    const own = domainClient(t, org)
    const id = await own.added('fits.example', org.keys.test)
    const message = 'The free plan allows 2 domains.'
    expectRefusal(await own.create({ name: 'more.example' }), 'PLAN_RESOURCE_LIMIT', { message })
    expect([(await own.create({ name: 'fits.example' })).body.id, await environmentOf(id)]).toEqual([id, 'live'])
  })

  test("X-052 XD-09 is promoted by a tenant's key only when it belongs to that tenant", async () => {
    const [own, sibling] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
    const key = await t.key(acme.org.id, { tenantId: own })
    const [mine, theirs, orgs] = [
      await added('mine.test', testKey, { tenant_id: own }),
      await added('sibling.test', testKey, { tenant_id: sibling }),
      await added('orgs.test', testKey),
    ]
    const reply = await create({ name: 'mine.test' }, key)
    expect([reply.status, reply.body.id, await environmentOf(mine)]).toEqual([201, mine, 'live'])
    for (const [name, id] of [
      ['sibling.test', theirs],
      ['orgs.test', orgs],
    ] as const) {
      expectRefusal(await leavesNoTrace(() => create({ name }, key)), 'DOMAIN_ALREADY_ADDED')
      expect((await create({ name })).body).toMatchObject({ id, tenant_id: null })
    }
    const other = await project('Without a test-mode domain')
    expect((await create({ name: 'orgs.test', project_id: other })).body.id).not.toBe(orgs)
  })

  test('X-052 X-108 X-314 starts again as pending when its status was IDENTITY_NOT_FOUND', async () => {
    const id = await added('vanished.test', testKey)
    await verify(id, testKey)
    await report(t, id, 'IDENTITY_NOT_FOUND')
    const vanished = (await verify(id, testKey)).body
    expect([vanished.status, vanished.dkim_status]).toEqual(['unverified', 'IDENTITY_NOT_FOUND'])
    const { body } = await create({ name: 'vanished.test' })
    expect(body).toEqual({
      ...vanished,
      status: 'pending',
      dkim_status: 'PENDING',
      verified_at: null,
      last_checked_at: null,
      records: vanished.records.map((record: object) => ({ ...record, status: 'pending' })),
    })
    expect((await verify(id)).body).toMatchObject({ status: 'verified', dkim_status: 'SUCCESS' })
  })

  test('X-052 X-312 is promoted once when several live requests add it concurrently', async () => {
    const id = await added('wanted.test', testKey)
    const { result: replies, trail } = await withTrail(t.database, acme.org.id, () =>
      Promise.all(Array.from({ length: 6 }, () => create({ name: 'wanted.test' }))),
    )
    const promoted = replies.filter(({ status }) => status === 201)
    expect(promoted.map(({ body }) => body.id)).toEqual([id])
    for (const reply of replies.filter((one) => !promoted.includes(one))) {
      expectRefusal(reply, 'DOMAIN_ALREADY_ADDED')
    }
    expect(trail.map(({ action }) => action)).toEqual(['domain.added'])
  })
})

describe('checks on demand', () => {
  test('XD-19 a domain can be checked 10 times a minute; the next check is rejected with Retry-After', async () => {
    const own = await testService()
    const org = await own.org()
    const domains = domainClient(own, org)
    const watched = await watchTables(own.database)
    const [one, two] = [await domains.added('one.test'), await domains.added('two.test')]
    for (let i = 0; i < 10; i++) expect((await domains.verify(one)).status).toBe(200)
    const refused = await watched(() => domains.verify(one))
    expectRefusal(refused, 'RATE_LIMITED', { message: 'You can check a domain at most 10 times a minute.' })
    const wait = Number(refused.headers['retry-after'])
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(60)
    expect((await domains.verify(two)).status).toBe(200)
    await advance(own, 60)
    expect((await domains.verify(one)).status).toBe(200)
  })
})

describe('warmup', () => {
  const dayMs = 86_400_000

  test('X-315 A-148 X-110 XD-20 warmup starts at 50 a day, doubles daily, is audited and emits an event', async () => {
    const own = await testService()
    const org = await own.org()
    const domains = domainClient(own, org)
    // Far enough from midnight that the day does not change during the test.
    await advance(own, secondsToNextDay(own.service.clock.now()) + 3_600)
    const id = await domains.added('warm.test')
    const keyId = await keyIdOf(own, org.keys.live)
    const { result: started, trail } = await withTrail(own.database, org.org.id, () =>
      domains.startWarmup(id, { days: 3 }),
    )
    const { started_at, ends_at } = started.body.warmup
    expect([started.status, started.body.warmup]).toEqual([
      200,
      {
        status: 'active',
        days: 3,
        day: 0,
        daily_cap: 50,
        sent_today: 0,
        started_at: instant,
        ends_at: instant,
      },
    ])
    const firstDay = Math.floor(Date.parse(started_at) / dayMs) * dayMs
    expect(Date.parse(ends_at)).toBe(firstDay + 3 * dayMs)
    const window = { days: 3, started_at, ends_at }
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'domain.warmup_started',
        resource_type: 'domain',
        resource_id: id,
        metadata: { name: 'warm.test', ...window, via: 'api_key', api_key_id: keyId },
      }),
    ])
    expect(await eventsOf(own.database, id)).toEqual([
      {
        event: 'domain.warmup_started',
        tenant_id: null,
        environment: null,
        data: { id, domain: 'warm.test', status: 'warming', daily_cap: 50, ...window },
      },
    ])
    const untilTomorrow = (firstDay + dayMs - own.service.clock.millis()) / 1000
    await own.service.modules.usage.reserve({
      orgId: org.org.id,
      tenantId: null,
      environment: 'live',
      keyId: null,
      channel: 'email',
      units: 12,
      warmup: { domainId: id, recipients: 12, cap: 50 },
    })
    expect((await domains.get(id)).body.warmup.sent_today).toBe(12)
    await advance(own, untilTomorrow)
    expect((await domains.get(id)).body.warmup).toMatchObject({ day: 1, daily_cap: 100, sent_today: 0 })
    await advance(own, dayMs / 1000)
    expect((await domains.get(id)).body.warmup).toMatchObject({ day: 2, daily_cap: 200 })
    expectRefusal(await domains.startWarmup(id, { days: 5 }), 'WARMUP_ALREADY_ACTIVE')
    await advance(own, dayMs / 1000)
    expect((await domains.get(id)).body.warmup).toBeNull()
    expect((await domains.startWarmup(id)).body.warmup).toMatchObject({ day: 0, days: 14, daily_cap: 50 })
  })

  test('XD-20 an active warmup cannot be started again, but one that was ended can', async () => {
    const id = await added('twice.example')
    const replies = await Promise.all(Array.from({ length: 5 }, () => startWarmup(id, { days: 30 })))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409])
    expectRefusal(await leavesNoTrace(() => startWarmup(id, {})), 'WARMUP_ALREADY_ACTIVE')
    expect(await eventsOf(t.database, id)).toHaveLength(1)
    const ended = await endWarmup(id)
    expect([ended.status, ended.body.warmup]).toEqual([200, null])
    expect((await leavesNoTrace(() => endWarmup(id))).status).toBe(200)
    expect((await startWarmup(id)).body.warmup.days).toBe(14)
  })

  test('XD-20 a window lasts 1 to 30 days', async () => {
    const id = await added('window.example')
    for (const [days, code] of [
      [0, 'too_small'],
      [31, 'too_big'],
      [1.5, 'invalid_type'],
      ['3', 'invalid_type'],
    ] as const) {
      const errors = [{ path: ['days'], code, message: expect.any(String) }]
      expectRefusal(await leavesNoTrace(() => startWarmup(id, { days })), 'VALIDATION_ERROR', { errors })
    }
  })
})

describe('the plan', () => {
  const fill = (orgId: string, projectId: string, n: number) =>
    t.database.sql(
      `insert into domains (org_id, id, project_id, name, status, dkim_status, region, created_environment,
         created_at, updated_at)
       select $1, id, $2, id || '.example', 'pending', 'PENDING', 'us-east-1', 'live', $4, $4
       from unnest($3::text[]) as d (id)`,
      [orgId, projectId, Array.from({ length: n }, () => newId('domain')), t.service.clock.now()],
    )

  test.for([
    ['free', 2],
    ['payg', 10],
    ['pro', 50],
    ['enterprise', 1_000],
  ] as const)(
    'X-279 XD-25 the %s plan allows %i domains; another one is rejected with 402 until one is removed',
    async ([plan, limit]) => {
      const org = await t.org({ plan: plan as Plan, name: 'Planned' })
      const own = domainClient(t, org)
      await fill(org.org.id, (await keyClient(t, org)).projectId, limit - 2)
      const id = await own.added('last.example')
      const message = `The ${plan} plan allows ${limit} domains.`
      expectRefusal(await leavesNoTrace(() => own.create({ name: 'more.example' })), 'PLAN_RESOURCE_LIMIT', {
        message,
      })
      await own.remove(id)
      expect((await own.create({ name: 'again.example' }, org.keys.test)).status).toBe(201)
    },
  )

  test('X-279 concurrent additions never exceed the plan, and uncommitted ones count', async () => {
    const org = await t.org({ plan: 'payg', name: 'At once' })
    const own = domainClient(t, org)
    const { projectId } = await keyClient(t, org)
    await fill(org.org.id, projectId, 4)
    const replies = await Promise.all(Array.from({ length: 9 }, (_, i) => own.create({ name: `n${i}.example` })))
    expect(replies.map(({ status }) => status).sort()).toEqual([...new Array(5).fill(201), ...new Array(4).fill(402)])

    const free = await t.org({ plan: 'free', name: 'Under way' })
    const other = await beginOtherTransaction(t.database)
    await other.sql('select 1 from orgs where id = $1 for no key update', [free.org.id])
    await other.sql(
      `insert into domains (org_id, id, project_id, name, status, dkim_status, region, created_environment,
         created_at, updated_at)
       values ($1, $2, $3, 'concurrent.example', 'pending', 'PENDING', 'us-east-1', 'live', $4, $4)`,
      [free.org.id, newId('domain'), (await keyClient(t, free)).projectId, t.service.clock.now()],
    )
    const reply = domainClient(t, free).create({ name: 'one-too-many.example' })
    await other.untilWaitedFor()
    await other.commit()
    expectRefusal(await reply, 'PLAN_RESOURCE_LIMIT', { message: 'The free plan allows 2 domains.' })
  })
})
