import { afterAll, describe, expect, test } from 'vitest'
import { trailOf, withTrail } from '../../../test/audit/trail.ts'
import { addMember, askWith } from '../../../test/clients/people.ts'
import { person, primaryOwner } from '../../../test/clients/team-client.ts'
import { iso } from '../../../test/expect/instants.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'
import { purges } from './store/purge-rows.ts'

const secret = 'audit-test-secret'
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret } })
afterAll(() => t.stop())

const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })
const runTask = async (task: string) => (await t.ask('POST', '/api/dev/run', { body: { task } })).body

const activeOrgCookie = (value: string, age = 31_536_000): string =>
  `service_active_org=${value}; Max-Age=${age}; Path=/; HttpOnly; SameSite=Lax`

describe('the active org', () => {
  test('A-030 is read by every member, with their own role', async () => {
    const { org } = await t.org({ plan: 'pro' })
    const viewer = await person(t, { orgId: org.id, role: 'viewer' })
    const owner = await primaryOwner(t, org.id)
    const shown = {
      id: org.id,
      name: 'Acme',
      slug: org.slug,
      plan: 'pro',
      owner_user_id: owner.userId,
      role: 'viewer',
      sandbox_domain: `${org.slug}.sandbox.tidings.test`,
      sms_quiet_hours: true,
      suspended: false,
      created_at: iso,
    }
    expect((await viewer.ask('GET', '/api/internal/org')).body).toEqual(shown)
    expect((await owner.ask('GET', '/api/internal/org')).body).toEqual({ ...shown, role: 'owner' })
  })

  test('A-053 is changed by owners, and only a real change is recorded', async () => {
    const { org } = await t.org()
    const owner = await primaryOwner(t, org.id)
    const patch = (body: object) => withTrail(t.database, org.id, () => owner.ask('PATCH', '/api/internal/org', body))
    const { result, trail } = await patch({ name: '  Beta  ', sms_quiet_hours: false })
    expect([result.status, result.body]).toMatchObject([200, { name: 'Beta', slug: org.slug, sms_quiet_hours: false }])
    expect(trail).toMatchObject([
      {
        action: 'org.updated',
        actor_user_id: owner.userId,
        resource_type: 'org',
        resource_id: org.id,
        metadata: {
          old: { name: 'Acme', sms_quiet_hours: true },
          new: { name: 'Beta', sms_quiet_hours: false },
        },
      },
    ])
    expect(await patch({ name: 'Beta' })).toMatchObject({ result: { status: 200 }, trail: [] })
    const refused = [
      {},
      { name: '' },
      { name: ' ' },
      { name: 'x'.repeat(81) },
      { sms_quiet_hours: 'yes' },
      { smsQuietHours: true },
    ]
    for (const body of refused) {
      const { result: reply, trail: none } = await patch(body)
      expect([reply.status, none], JSON.stringify(body)).toEqual([422, []])
    }
    const developer = await person(t, { orgId: org.id, role: 'developer' })
    expect((await developer.ask('PATCH', '/api/internal/org', { name: 'X' })).body).toEqual({
      error: 'Owner role required',
    })
  })
})

describe('a new org', () => {
  const create = async (body: object) => (await person(t)).ask('POST', '/api/internal/org', body)

  test('AD-65 AD-67 has the slug that its owner chooses, and keeps it', async () => {
    const ann = await person(t)
    const made = await ann.ask('POST', '/api/internal/org', { name: '株式会社', slug: 'kabushiki-2' })
    expect([made.status, made.body]).toMatchObject([
      201,
      { name: '株式会社', slug: 'kabushiki-2', sandbox_domain: 'kabushiki-2.sandbox.tidings.test' },
    ])
    const trail = (await trailOf(t.database, made.body.id)).filter(({ action }) => action === 'org.created')
    expect(trail).toMatchObject([{ metadata: { name: '株式会社', slug: 'kabushiki-2' } }])
    expect((await create({ name: 'Müller & Söhne' })).body.slug).toBe('muller-sohne')
    expect((await create({ name: 'Müller & Söhne' })).body.slug).toMatch(/^muller-sohne-[0-9a-z]{6}$/)
    expect((await create({ name: 'Газпром' })).body.slug).toMatch(/^org-[0-9a-z]{6}$/)
  })

  test('AD-65 with a slug that is taken is refused with 409, and with a malformed one with 422', async () => {
    expect((await create({ name: 'One', slug: 'only-one' })).status).toBe(201)
    const taken = await create({ name: 'Two', slug: 'only-one' })
    expect([taken.status, taken.body]).toEqual([
      409,
      { error: 'Another organisation already uses this slug. Choose another one.', code: 'ORG_SLUG_TAKEN' },
    ])
    for (const slug of ['', 'Two', 'a--b', '-a', 'a-', 'a b', 'ü', 'x'.repeat(49), null, 7]) {
      const reply = await create({ name: 'Two', slug })
      expect([reply.status, reply.body.errors?.[0].path], JSON.stringify(slug)).toEqual([422, ['slug']])
    }
    expect(await t.database.sql("select 1 from orgs where name = 'Two'")).toEqual([])
  })

  test('AD-65 of those who choose the same slug at the same time one gets it', async () => {
    const replies = await Promise.all(Array.from({ length: 6 }, () => create({ name: 'Same', slug: 'contested' })))
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    expect(await t.database.sql("select slug from orgs where name = 'Same'")).toEqual([{ slug: 'contested' }])
  })

  test('AD-65 a slug that is taken does not count as one of the ten orgs of a day', async () => {
    const ann = await person(t)
    await create({ name: 'Held', slug: 'held' })
    for (let i = 0; i < 12; i++) {
      expect((await ann.ask('POST', '/api/internal/org', { name: 'Mine', slug: 'held' })).status).toBe(409)
    }
    expect((await ann.ask('POST', '/api/internal/org', { name: 'Mine', slug: 'mine' })).status).toBe(201)
  })

  test('has its creator as owner and pointer and a default project, and becomes the active one', async () => {
    const ann = await person(t)
    const reply = await ann.ask('POST', '/api/internal/org', { name: 'Ann’s Café' })
    expect([reply.status, reply.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^org_/),
        name: 'Ann’s Café',
        slug: 'ann-s-cafe',
        plan: 'free',
        owner_user_id: ann.userId,
        role: 'owner',
        sandbox_domain: 'ann-s-cafe.sandbox.tidings.test',
        sms_quiet_hours: true,
        suspended: false,
        created_at: iso,
      },
    ])
    const { id } = reply.body
    expect(reply.headers['set-cookie']).toBe(activeOrgCookie(id))
    expect(await trailOf(t.database, id)).toMatchObject([
      { action: 'org.created', actor_user_id: ann.userId, resource_type: 'org', resource_id: id },
    ])
    const projects = await t.database.sql('select slug, is_default from projects where org_id = $1', [id])
    expect(projects).toEqual([{ slug: 'default', is_default: true }])
    const second = await ann.ask('POST', '/api/internal/org', { name: 'Ann’s Café' })
    expect(second.body.slug).toMatch(/^ann-s-cafe-[a-z0-9]{6}$/)
  })

  test('is one of ten that a user can create in a day', async () => {
    const ann = await person(t)
    for (let i = 0; i < 10; i++) {
      expect((await ann.ask('POST', '/api/internal/org', { name: `Org ${i}` })).status).toBe(201)
    }
    const refused = await ann.ask('POST', '/api/internal/org', { name: 'One more' })
    expect([refused.status, refused.body.code, Number(refused.headers['retry-after']) > 80_000]).toEqual([
      429,
      'RATE_LIMITED',
      true,
    ])
    const listed = (await ann.ask('GET', '/api/internal/orgs')).body.data.map(({ name }: { name: string }) => name)
    expect(listed).toEqual(Array.from({ length: 10 }, (_, i) => `Org ${9 - i}`))
  })
})

describe('the switcher', () => {
  test('A-031 A-032 lists only the user’s own orgs, and the chosen one is active from the next request on', async () => {
    const [home, guest] = [await t.org({ name: 'Home' }), await t.org({ name: 'Guest' })]
    const ann = await person(t, { orgId: home.org.id, role: 'owner' })
    await addMember(t, guest.org.id, ann.userId, 'viewer')
    const item = (org: { id: string; slug: string }, name: string, role: string, active: boolean) => ({
      id: org.id,
      name,
      slug: org.slug,
      role,
      active,
      default: org.id === home.org.id,
      created_at: iso,
    })
    const listed = (homeActive: boolean) => ({
      data: [item(guest.org, 'Guest', 'viewer', !homeActive), item(home.org, 'Home', 'owner', homeActive)],
      has_more: false,
      next_cursor: null,
    })
    expect((await ann.ask('GET', '/api/internal/orgs')).body).toEqual(listed(true))
    const reply = await ann.ask('POST', '/api/internal/org/switch', { org_id: guest.org.id })
    expect([reply.status, reply.body]).toEqual([
      200,
      { active_org: { id: guest.org.id, name: 'Guest', slug: guest.org.slug, role: 'viewer' } },
    ])
    expect(reply.headers['set-cookie']).toBe(activeOrgCookie(guest.org.id))
    const cookie = `${ann.cookie}; service_active_org=${guest.org.id}`
    expect((await askWith(t, cookie, 'GET', '/api/internal/orgs')).body).toEqual(listed(false))
    expect((await askWith(t, cookie, 'GET', '/api/internal/org')).body.id).toBe(guest.org.id)
    expect((await askWith(t, cookie, 'PATCH', '/api/internal/org', { body: { name: 'X' } })).status).toBe(403)
    const page = await ann.ask('GET', '/api/internal/orgs?limit=1')
    const next = await ann.ask('GET', `/api/internal/orgs?limit=1&cursor=${page.body.next_cursor}`)
    expect([page.body.data[0].id, next.body.data[0].id, next.body.has_more]).toEqual([guest.org.id, home.org.id, false])
  })

  test('does not find an org that the user does not belong to', async () => {
    const { org } = await t.org()
    const ann = await person(t)
    for (const id of [org.id, newId('org'), 'x', '']) {
      const reply = await ann.ask('POST', '/api/internal/org/switch', { org_id: id })
      expect([reply.status, reply.body, reply.headers['set-cookie']], id).toEqual([
        404,
        { error: 'Not found' },
        undefined,
      ])
    }
  })
})

describe('a deleted org', () => {
  const remove = async (owner: Awaited<ReturnType<typeof primaryOwner>>, confirm: string) =>
    owner.ask('DELETE', '/api/internal/org', { confirm })

  test('A-060 needs its slug as confirmation', async () => {
    const { org } = await t.org()
    const owner = await primaryOwner(t, org.id)
    for (const confirm of ['', 'Acme', `${org.slug} `, undefined]) {
      const { result, trail } = await withTrail(t.database, org.id, () => remove(owner, confirm as string))
      expect([result.status, result.body.errors[0].path, trail], confirm).toEqual([422, ['confirm'], []])
    }
    const developer = await person(t, { orgId: org.id, role: 'developer' })
    expect((await remove(developer, org.slug)).body).toEqual({ error: 'Owner role required' })
    expect((await owner.ask('GET', '/api/internal/org')).status).toBe(200)
  })

  test('is closed to its members and keys at once, and its scheduled messages are never sent', async () => {
    const acme = await t.org({ name: 'Freed' })
    const { id: orgId, slug } = acme.org
    const owner = await primaryOwner(t, orgId)
    const viewer = await person(t, { orgId, role: 'viewer' })
    const key = acme.keys.live
    const mail = {
      from: `a@${acme.domain}`,
      to: ['bob@reader.test'],
      subject: 'Later',
      text: 'x',
      scheduled_at: new Date(t.service.clock.millis() + 3_600_000).toISOString(),
    }
    expect((await t.ask('POST', '/api/v1/emails', { key, body: mail })).status).toBe(200)
    const hook = await t.ask('POST', '/api/v1/webhooks', {
      key,
      body: { url: 'https://hooks.example.com/x', events: ['*'] },
    })
    expect(hook.status).toBe(201)
    await owner.ask('POST', '/api/internal/team/invite', { email: 'carl@reader.test', role: 'viewer' })
    const reply = await remove(owner, slug)
    expect([reply.status, reply.body]).toEqual([
      200,
      { deleted: true, id: orgId, next_org_id: null, redirect_to: '/orgs/new' },
    ])
    expect(reply.headers['set-cookie']).toBe(activeOrgCookie('', 0))
    expect((await t.ask('GET', '/api/v1/emails', { key })).status).toBe(401)
    for (const member of [owner, viewer]) {
      expect((await member.ask('GET', '/api/internal/org')).status).toBe(401)
      expect((await member.ask('GET', '/api/internal/orgs')).body.data).toEqual([])
    }
    const left = await t.database.sql(
      `select (select array_agg(status) from messages where org_id = $1) as messages,
         (select count(*)::int from webhook_endpoints where org_id = $1) as endpoints,
         (select count(*)::int from invitations where org_id = $1) as invitations`,
      [orgId],
    )
    expect(left).toEqual([{ messages: ['canceled'], endpoints: 0, invitations: 0 }])
    expect((await t.org({ name: 'Freed' })).org.slug).toBe(slug)
  })

  test('A-202 A-203 is recorded under the org that its owner has owned for longest, or nowhere if there is none', async () => {
    const [gone, newer, oldest, viewed] = [
      await t.org({ name: 'Gone' }),
      await t.org({ name: 'Newer' }),
      await t.org({ name: 'Oldest' }),
      await t.org({ name: 'Viewed' }),
    ]
    const ann = await person(t, { orgId: gone.org.id, role: 'owner' })
    await addMember(t, viewed.org.id, ann.userId, 'viewer')
    const at = new Date(t.service.clock.millis() - 1_000)
    const ids = [newId('membership'), newId('membership')].sort()
    for (const [org, id] of [
      [oldest, ids[0]],
      [newer, ids[1]],
    ] as const) {
      await t.database.sql(
        "insert into memberships (org_id, id, user_id, role, created_at) values ($1, $2, $3, 'owner', $4)",
        [org.org.id, id, ann.userId, at],
      )
    }
    const cookie = `${ann.cookie}; service_active_org=${gone.org.id}`
    const reply = await askWith(t, cookie, 'DELETE', '/api/internal/org', { body: { confirm: gone.org.slug } })
    expect(reply.body).toEqual({ deleted: true, id: gone.org.id, next_org_id: oldest.org.id, redirect_to: '/' })
    expect(await trailOf(t.database, oldest.org.id)).toMatchObject([
      {
        action: 'org.deleted',
        actor_user_id: ann.userId,
        resource_type: 'org',
        resource_id: gone.org.id,
        metadata: { name: 'Gone', slug: gone.org.slug },
      },
    ])
    for (const { org } of [gone, newer, viewed]) expect(await trailOf(t.database, org.id)).toEqual([])
    const only = await t.org({ name: 'Only' })
    const owner = await primaryOwner(t, only.org.id)
    const before = await t.database.sql("select id from audit_entries where action = 'org.deleted'")
    expect((await remove(owner, only.org.slug)).status).toBe(200)
    expect(await t.database.sql("select id from audit_entries where action = 'org.deleted'")).toEqual(before)
  })

  test('loses all its rows in every table, and its audit chain still verifies', async () => {
    const acme = await t.org()
    const { id: orgId, slug } = acme.org
    const key = acme.keys.live
    const owner = await primaryOwner(t, orgId)
    await t.ask('POST', '/api/v1/emails', {
      key,
      headers: { 'idempotency-key': 'one' },
      body: { from: `a@${acme.domain}`, to: ['bob@reader.test'], subject: 'Hi', text: 'x' },
    })
    await t.ask('POST', '/api/v1/suppressions', { key, body: { channel: 'email', value: 'c@reader.test' } })
    await t.ask('POST', '/api/v1/tenants', { key, body: { name: 'T' } })
    await t.ask('POST', '/api/v1/webhooks', { key, body: { url: 'https://hooks.example.com/x', events: ['*'] } })
    await owner.ask('PATCH', '/api/internal/org', { name: 'Beta' })
    await t.service.chain.link()
    await remove(owner, slug)
    await t.service.modules.outbox.flushed()
    const mails = () =>
      t.database.sql<{ message_id: string }>(
        `select o.message_id from local_outbox o join unnest($1::text[]) as own (id) on own.id = o.message_id`,
        [ownMessages.map(({ id }) => id)],
      )
    const ownMessages = await t.database.sql<{ id: string }>('select id from messages where org_id = $1', [orgId])
    expect(await mails()).toHaveLength(1)
    const counts = async () => {
      const tables = await t.database.sql<{ name: string }>(
        `select c.table_name as name from information_schema.columns c
         join information_schema.tables t using (table_schema, table_name)
         where c.column_name = 'org_id' and c.table_schema = 'public' and t.table_type = 'BASE TABLE'
         order by 1`,
      )
      const left: Record<string, number> = {}
      for (const { name } of tables) {
        const [row] = await t.database.sql<{ n: number }>(`select count(*)::int as n from ${name} where org_id = $1`, [
          orgId,
        ])
        if (row && row.n > 0) left[name] = row.n
      }
      return left
    }
    expect(await counts()).toMatchObject({ messages: 1, suppressions: 1, idempotency_keys: 1, tenants: 1 })
    await runTask('deletions')
    // Requests that began before the deletion may still write for a while, so the org and its log stay until then.
    expect(await counts()).toMatchObject({ audit_entries: expect.any(Number), projects: 1 })
    expect(await counts()).not.toHaveProperty('messages')
    expect(await mails()).toEqual([])
    // As the worker and each process do by themselves.
    await t.service.chain.link()
    await t.service.modules.writtenEntries.check()
    await advance(900)
    expect(await runTask('deletions')).toMatchObject({ counts: { orgs_deleted: expect.any(Number) } })
    expect(await counts()).toEqual({ audit_chains: 1, audit_register: 1 })
    expect(await t.database.sql('select id from orgs where id = $1', [orgId])).toEqual([])
    expect(await t.service.chain.verify(orgId)).toMatchObject({
      checked: 0,
      missing: [],
      broken: [],
      stray: [],
      head: 'ok',
      pruned: 'ok',
      register: 'ok',
      waiting: 0,
    })
    await t.service.modules.writtenEntries.check()
    expect(await counts()).toEqual({ audit_chains: 1, audit_register: 1 })
  })

  test('gives its numbers and domains back, and waits while the registry is unreachable', async () => {
    const { org, domain } = await t.org()
    const owner = await primaryOwner(t, org.id)
    const registry = (status: string) => t.ask('POST', '/api/dev/registry', { body: { id: '*', status } })
    await t.database.sql(
      `insert into phone_numbers (org_id, id, environment, kind, e164, iso_country, status, provider_id, created_at,
         updated_at)
       values ($1, $2, 'live', 'number', '+12025550143', 'US', 'verified', 'number-1', $3, $3)`,
      [org.id, newId('phoneNumber'), t.service.clock.now()],
    )
    const held = () =>
      t.database.sql(
        `select e164 as held from phone_numbers where org_id = $1 and provider_id is not null
         union all select name from domains where org_id = $1`,
        [org.id],
      )
    await remove(owner, org.slug)
    await registry('unreachable')
    await advance(900)
    await runTask('deletions')
    expect(await held()).toEqual([{ held: '+12025550143' }, { held: domain }])
    await registry('reachable')
    await runTask('deletions')
    expect(await held()).toEqual([])
    const released = (await trailOf(t.database, org.id)).map(({ action, actor_user_id }) => [action, actor_user_id])
    expect(released).toEqual([
      ['phone_number.released', null],
      ['domain.removed', null],
    ])
    // These entries are new, so the log goes with a later run.
    await t.service.chain.link()
    await t.service.modules.writtenEntries.check()
    await advance(60)
    await runTask('deletions')
    expect(await t.database.sql('select id from orgs where id = $1', [org.id])).toEqual([])
    expect(await trailOf(t.database, org.id)).toEqual([])
  })

  test('has every table in the list of what is deleted, or a foreign key that deletes its rows', async () => {
    const tables = await t.database.sql<{ name: string }>(
      `select c.table_name as name from information_schema.columns c
       join information_schema.tables t using (table_schema, table_name)
       where c.column_name = 'org_id' and c.table_schema = 'public' and t.table_type = 'BASE TABLE'
         and not exists (select 1 from pg_inherits i where i.inhrelid = c.table_name::regclass)`,
    )
    const cascading = await t.database.sql<{ name: string }>(
      `with recursive owned as (
         select 'orgs'::regclass as id
         union
         select f.conrelid::regclass from pg_constraint f join owned o on f.confrelid = o.id
         where f.contype = 'f' and f.confdeltype = 'c'
       )
       select id::text as name from owned`,
    )
    const audit = ['audit_entries', 'audit_links', 'audit_unlinked', 'audit_chains', 'audit_register']
    const covered = new Set([...Object.keys(purges), 'events', ...audit, ...cascading.map(({ name }) => name)])
    expect(tables.map(({ name }) => name).filter((name) => !covered.has(name))).toEqual([])
  })

  test('has no rows in a table without an org, unless its people or messages have them', async () => {
    /** Tables without an org whose rows no org owns. Accounts belong to people, who can be in several orgs. */
    const ofNoOrg = [
      'audit_register_head',
      'health_probes',
      'oauth_clients',
      'orgs',
      'password_guesses',
      'provider_notifications',
      'schema_migrations',
      'service_processes',
      'settings',
      'sign_in_attempts',
      'simulated_registry',
      'users',
    ]
    const tables = await t.database.sql<{ name: string }>(
      `select t.table_name as name from information_schema.tables t
       where t.table_schema = 'public' and t.table_type = 'BASE TABLE'
         and not exists (select 1 from pg_inherits i where i.inhrelid = t.table_name::regclass)
         and not exists (select 1 from information_schema.columns c
           where c.table_schema = 'public' and c.table_name = t.table_name and c.column_name in ('org_id', 'user_id'))
       order by 1`,
    )
    const names = tables.map(({ name }) => name)
    expect(names.filter((name) => !(name in purges) && !ofNoOrg.includes(name))).toEqual([])
    expect(ofNoOrg.filter((name) => !names.includes(name))).toEqual([])
  })
})
