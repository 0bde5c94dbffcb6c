/** Entries cannot be changed once they are written, and writing them never blocks the action. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { trailOf, withTrail } from '../../../test/audit/trail.ts'
import { keyClient, keyIdOf } from '../../../test/clients/key-client.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { type Reply, startTestService, testService } from '../../../test/service/service.ts'
import { ops as runOps } from '../../app/command/ops.ts'
import { openDb } from '../../platform/db/pool.ts'
import { statement } from '../../platform/db/statement.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { newId } from '../../platform/ground/ids.ts'
import { type Log, silentLog } from '../../platform/ground/log.ts'
import type { AuditEntry } from './append.ts'

const secret = 'audit-test-secret'
const logFile = await openLogFile()
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret }, log: logFile.log })
afterAll(async () => {
  await t.stop()
  await logFile.remove()
})

const acme = await t.org()
const orgId = acme.org.id
const { live } = acme.keys
const recordTrail = <T>(work: () => Promise<T>, org = orgId) => withTrail(t.database, org, work)

const opsIn = async (args: string[], log: Log = silentLog()): Promise<string> => {
  let output = ''
  const config = readConfig({ DATABASE_URL: t.database.url, AUDIT_SIGNING_SECRET: secret })
  await runOps(config, log, args, (text) => {
    output += text
  })
  return output
}

describe('the table', () => {
  const refused = { code: '42501', message: 'audit entries are append-only' }
  const path = (name: string) => `select set_config('tidings.audit_path', '${name}', true)`
  /** Runs statements in a transaction that is rolled back. Returns the row count or the error of the last one. */
  const attempt = async (...statements: string[]): Promise<unknown> => {
    const client = await t.service.db.connect()
    try {
      await client.query('begin')
      for (const sql of statements.slice(0, -1)) await client.query(sql)
      return await client.query(statements.at(-1) as string).then(
        ({ rowCount }) => rowCount,
        ({ code, message }) => ({ code, message }),
      )
    } finally {
      await client.query('rollback')
      await client.end()
    }
  }
  const where = `where id = (select id from audit_entries where org_id = '${orgId}' order by id limit 1)`
  beforeAll(() => t.ask('POST', '/api/v1/tenants', { key: live, body: { name: 'There' } }))

  test.each([
    ["update audit_entries set action = 'x'"],
    ['update audit_entries set actor_user_id = null'],
    ['update audit_entries set signature = null'],
    ["update audit_entries set ip_address = null, user_agent = ''"],
    ['update audit_entries set metadata = null'],
    ['delete from audit_entries'],
  ])('A-092 rejects: %s, for one entry or for all', async (sql) => {
    expect(await attempt(`${sql} ${where}`)).toEqual(refused)
    expect(await attempt(sql)).toEqual(refused)
  })

  test('A-092 rejects truncate', async () => {
    expect(await attempt('truncate audit_entries')).toEqual(refused)
    expect(await attempt('truncate audit_entries, audit_links, audit_unlinked, audit_chains')).toEqual(refused)
  })

  test('A-092 allows the erasure of a user to clear the actor and change the signature, and nothing else', async () => {
    const person = newId('user')
    const named = `insert into audit_entries (org_id, id, actor_user_id, action, created_at)
      values ('${orgId}', 'aud_person', '${person}', 'user.login', '2026-11-01')`
    const of = `where actor_user_id = '${person}'`
    const erasing = (sql: string) => attempt(named, path('erasure'), sql)
    expect(await erasing(`update audit_entries set actor_user_id = null, signature = 'x' ${of}`)).toBe(1)
    for (const set of [
      "actor_user_id = 'usr_other'",
      "actor_user_id = null, action = 'user.registered'",
      "actor_user_id = null, metadata = '{}'",
      "actor_user_id = null, resource_id = 'x'",
      "actor_user_id = null, resource_type = 'x'",
      "actor_user_id = null, org_id = 'x'",
      "actor_user_id = null, id = 'x'",
      "actor_user_id = null, ip_address = '::1'",
      "actor_user_id = null, user_agent = 'x'",
      "actor_user_id = null, created_at = '2026-11-02'",
      "signature = 'x'",
    ]) {
      expect(await erasing(`update audit_entries set ${set} ${of}`), set).toEqual(refused)
    }
    // An entry without an actor has nothing to clear.
    expect(await attempt(path('erasure'), `update audit_entries set signature = null ${where}`)).toEqual(refused)
    expect(await erasing(`delete from audit_entries ${of}`)).toEqual(refused)
    expect(await erasing('truncate audit_entries')).toEqual(refused)
  })

  test('A-092 allows retention to delete entries, and nothing else', async () => {
    expect(await attempt(path('retention'), `delete from audit_entries ${where}`)).toBe(1)
    expect(await attempt(path('retention'), `update audit_entries set action = 'x' ${where}`)).toEqual(refused)
    expect(await attempt(path('retention'), 'truncate audit_entries')).toEqual(refused)
  })

  test('A-092 the chain is protected in the same way', async () => {
    await t.service.chain.link()
    const closed = { code: '42501', message: 'the audit chain is append-only' }
    for (const sql of ["update audit_links set digest = ''", 'delete from audit_links', 'truncate audit_links']) {
      expect(await attempt(sql), sql).toEqual(closed)
    }
    expect(await attempt(path('erasure'), 'delete from audit_links')).toEqual(closed)
    expect(await attempt(path('retention'), "update audit_links set digest = ''")).toEqual(closed)
    expect(await attempt(path('retention'), 'delete from audit_links')).toBeGreaterThan(0)
  })

  test('A-092 no route changes or deletes an entry', () => {
    const touching = t.service.routes.filter(({ path: name, method }) => method !== 'GET' && /audit/.test(name))
    expect(touching).toEqual([])
  })
})

test('metadata of an action cannot override its actor', () => {
  const { rowOf } = t.service.modules.audit
  const metadata = { api_key_id: 'key_other', count: 1, via: 'dashboard' }
  const entry = { orgId, action: 'message.sent', resourceType: null, resourceId: null, metadata } as const
  const byKey = { kind: 'key', keyId: 'key_own', ip: null, userAgent: '' } as const
  expect(rowOf({ ...entry, actor: byKey }).metadata).toBe('{"api_key_id":"key_own","count":1,"via":"api_key"}')
  expect(rowOf({ ...entry, actor: { kind: 'system' } }).metadata).toBe(
    '{"api_key_id":"key_other","count":1,"via":"system"}',
  )
})

describe('a failing entry', () => {
  /** Makes inserting entries of the org fail while `work` runs. */
  const withFailingInserts = async <T>(org: string, work: () => Promise<T>): Promise<T> => {
    await t.database.sql(`create function fail_insert() returns trigger language plpgsql as
      $$ begin if new.org_id = '${org}' then raise exception 'insert failed'; end if; return new; end $$`)
    await t.database.sql(
      'create trigger fail_insert before insert on audit_entries for each row execute function fail_insert()',
    )
    try {
      return await work()
    } finally {
      await t.database.sql('drop function fail_insert cascade')
    }
  }
  type Lost = { audit_entries: Record<string, unknown>[]; request_id?: string; level: number; failure: object }
  const lost = async (resourceId: string) =>
    ((await logFile.lines('audit entry write failed')) as Lost[]).filter(({ audit_entries }) =>
      audit_entries.some((row) => row.resourceId === resourceId),
    )

  test('A-113 R-44 does not block the action, and its action and ids are logged instead', async () => {
    const org = await t.org({ name: 'Failing' })
    const keyId = await keyIdOf(t, org.keys.live)
    const client = tenantClient(t, org)
    const keys = await keyClient(t, org)
    const from = { 'user-agent': 'probe/1', 'x-forwarded-for': '203.0.113.9' }
    const call = (method: string, path: string, body?: unknown) =>
      t.ask(method, `/api/v1${path}`, {
        key: org.keys.live,
        headers: from,
        ...(body !== undefined && { body }),
      })
    const { result, trail } = await recordTrail(
      () =>
        withFailingInserts(org.org.id, async () => {
          const tenant = await call('POST', '/tenants', { name: 'Made', slug: 'made' })
          const { id } = tenant.body
          const done: [string, string, Reply][] = [['tenant.created', id, tenant]]
          done.push(['tenant.updated', id, await call('PATCH', `/tenants/${id}`, { name: 'Named' })])
          done.push(['tenant.quota_updated', id, await call('PATCH', `/tenants/${id}/quota`, { sms_monthly: 1 })])
          done.push(['tenant.suspended', id, await call('POST', `/tenants/${id}/suspend`)])
          done.push(['tenant.erased', id, await call('POST', `/tenants/${id}/erase`)])
          const key = await call('POST', '/keys', { name: 'Made' })
          done.push(['api_key.created', key.body.id, key])
          done.push(['api_key.revoked', key.body.id, await call('DELETE', `/keys/${key.body.id}`)])
          const sup = await call('POST', '/suppressions', { channel: 'email', value: 'x@example.com' })
          done.push(['suppression.added', sup.body.id, sup])
          done.push(['suppression.removed', sup.body.id, await call('DELETE', `/suppressions/${sup.body.id}`)])
          return done
        }),
      org.org.id,
    )
    expect(result.map(([, , { status }]) => status)).toEqual([201, 200, 200, 200, 200, 201, 200, 201, 200])
    expect(trail).toEqual([])
    const tenantId = result[0]?.[1] as string
    expect((await client.get(tenantId)).body).toMatchObject({ name: 'Named', status: 'erased' })
    expect((await keys.get(result[5]?.[1] as string)).body.revoked_at).not.toBe(null)
    const waiting = 'select 1 from audit_unlinked where org_id = $1'
    expect(await t.database.sql(waiting, [org.org.id])).toEqual([])

    for (const [action, resourceId, reply] of result) {
      const line = async () =>
        (await lost(resourceId)).filter(({ audit_entries }) => audit_entries[0]?.action === action)
      await expect.poll(async () => (await line()).length).toBe(1)
      const [logged] = await line()
      expect(logged).toMatchObject({ level: 50, failure: { type: 'error', code: 'P0001' } })
      expect(logged?.audit_entries).toEqual([
        {
          id: expect.stringMatching(/^aud_/),
          orgId: org.org.id,
          action,
          actorUserId: null,
          apiKeyId: keyId,
          resourceType: expect.any(String),
          resourceId,
        },
      ])
      if (action !== 'suppression.added') expect(logged?.request_id).toBe(reply.headers['x-request-id'])
    }
  })

  test('A-113 R-10 does not block an operator command, nor an action whose metadata cannot be stored', async () => {
    const { org } = await t.org({ plan: 'free', name: 'Failing too' })
    await withFailingInserts(org.id, async () => {
      await opsIn(['org', 'suspend', org.id, '--reason', 'unpaid', '--operator', 'kim'], logFile.log)
      await opsIn(['org', 'plan', org.id, 'pro'], logFile.log)
    })
    const [row] = await t.database.sql('select plan, suspension_reason from orgs where id = $1', [org.id])
    expect(row).toEqual({ plan: 'pro', suspension_reason: 'unpaid' })
    expect(await trailOf(t.database, org.id)).toEqual([])
    await expect
      .poll(async () => (await lost(org.id)).map(({ audit_entries }) => audit_entries[0]?.action), {
        timeout: 5_000,
      })
      .toEqual(['org.suspended', 'plan.upgraded'])
    expect((await lost(org.id))[0]?.audit_entries[0]).toEqual({
      id: expect.stringMatching(/^aud_/),
      orgId: org.id,
      action: 'org.suspended',
      actorUserId: null,
      apiKeyId: null,
      resourceType: 'org',
      resourceId: org.id,
    })

    const { db, audit } = t.service.modules
    const endless: Record<string, unknown> = {}
    endless.self = endless
    for (const metadata of [endless, { big: 1n }]) {
      const resourceId = newId('key')
      const entry = {
        orgId,
        actor: { kind: 'system' },
        action: 'org.updated',
        resourceType: null,
        resourceId,
        metadata,
      } as const
      expect(await db.tx(async (tx) => audit(tx, entry).then(() => 'continued'))).toBe('continued')
      await expect.poll(async () => (await lost(resourceId)).length).toBe(1)
    }
  })

  test('R-44 is logged without any address, whatever the database error quotes', async () => {
    const { db, audit } = t.service.modules
    const { org } = await t.org({ name: 'Quoting' })
    const keyId = newId('key')
    const address = 'ann.lost@reader.test'
    const entry: AuditEntry = {
      orgId: org.id,
      actor: { kind: 'key', keyId, ip: '203.0.113.77', userAgent: `mail/1 (${address})` },
      action: 'member.invited',
      resourceType: 'invitation',
      resourceId: address,
      metadata: { email: address, nested: [{ to: address }] },
    }
    /** Each fails the insert with an error that quotes the row. */
    const failures: [code: string, body: string][] = [
      [
        'P0001',
        `raise exception E'at %\\n    at % (x:1:2)', new.resource_id, new.resource_id using detail = new.metadata::text, hint = new.resource_id`,
      ],
      ['22P02', 'perform new.resource_id::int'],
      [
        '23514',
        'raise check_violation using message = new.resource_id, constraint = new.resource_id, table = new.resource_id',
      ],
      ['42P01', "execute format('select 1 from %I', new.resource_id)"],
    ]
    for (const [code, body] of failures) {
      await t.database.sql(`create function fail_quoting() returns trigger language plpgsql as
        $$ begin if new.org_id = '${org.id}' then ${body}; end if; return new; end $$`)
      await t.database.sql(
        'create trigger fail_quoting before insert on audit_entries for each row execute function fail_quoting()',
      )
      const written = db.tx((tx) => audit(tx, entry).then(() => 'continued'))
      expect(await written.finally(() => t.database.sql('drop function fail_quoting cascade'))).toBe('continued')
      const linesOf = async () =>
        ((await logFile.lines('audit entry write failed')) as Lost[]).filter(
          ({ audit_entries, failure }) =>
            audit_entries[0]?.orgId === org.id && 'code' in failure && failure.code === code,
        )
      await expect.poll(async () => (await linesOf()).length).toBe(1)
      const [line] = await linesOf()
      expect(line?.audit_entries).toEqual([
        {
          id: expect.stringMatching(/^aud_/),
          orgId: org.id,
          action: 'member.invited',
          actorUserId: null,
          apiKeyId: keyId,
          resourceType: 'invitation',
          resourceId: null,
        },
      ])
      expect(line?.failure).toMatchObject({ stack: expect.stringMatching(/^ {4}at .*:\d+:\d+/) })
    }
    // Metadata that cannot be stored at all fails before the insert.
    const odd = {
      ...entry,
      metadata: {
        email: address,
        toJSON: () => {
          throw new Error(address, { cause: address })
        },
      },
    }
    expect(await db.tx(async (tx) => audit(tx, odd).then(() => 'continued'))).toBe('continued')
    const all = async () =>
      (await logFile.lines('audit entry write failed')).filter((line) => JSON.stringify(line).includes(org.id))
    await expect.poll(async () => (await all()).length).toBe(failures.length + 1)
    const text = await logFile.text()
    for (const secret of ['ann.lost', 'reader.test', '203.0.113.77']) expect(text).not.toContain(secret)
    expect(await trailOf(t.database, org.id)).toEqual([])
  })

  const addScratch = statement<{ n: number }>('test.add_scratch', 'insert into scratch values (:n)')

  test('R-10 is rolled back alone, and the other changes of the action are committed', async () => {
    await t.database.sql('create table scratch (n int)')
    onTestFinished(async () => {
      await t.database.sql('drop table scratch')
    })
    const { db, audit } = t.service.modules
    const { org } = await t.org({ name: 'Alone' })
    const entry: AuditEntry = {
      orgId: org.id,
      actor: { kind: 'system' },
      action: 'org.updated',
      resourceType: null,
      resourceId: null,
    }
    await withFailingInserts(org.id, () =>
      db.tx(async (tx) => {
        await tx.change(addScratch, { n: 1 })
        // The valid entry is lost with the failing one, because both are in one statement.
        await audit(tx, { ...entry, orgId }, entry)
        await tx.change(addScratch, { n: 2 })
      }),
    )
    expect(await t.database.sql('select n from scratch order by n')).toEqual([{ n: 1 }, { n: 2 }])
    expect(await trailOf(t.database, org.id)).toEqual([])
  })

  test('R-10 is not written when the action fails, even if it fails at commit', async () => {
    const { db, audit } = t.service.modules
    const { org } = await t.org({ name: 'Fails' })
    const entry: AuditEntry = {
      orgId: org.id,
      actor: { kind: 'system' },
      action: 'org.updated',
      resourceType: null,
      resourceId: null,
    }
    const failing = db.tx(async (tx) => {
      await audit(tx, entry)
      throw new Error('action failed')
    })
    await expect(failing).rejects.toThrow('action failed')
    // Fails at the commit itself.
    await t.database.sql(`create function fail_at_commit() returns trigger language plpgsql as
      $$ begin if new.org_id = '${org.id}' then raise exception 'commit failed'; end if; return null; end $$`)
    await t.database.sql(
      `create constraint trigger fail_at_commit after insert on tenants deferrable initially deferred
       for each row execute function fail_at_commit()`,
    )
    const late = await t.ask('POST', '/api/v1/tenants', {
      key: await t.key(org.id),
      body: { name: 'Late' },
    })
    await t.database.sql('drop function fail_at_commit cascade')
    expectRefusal(late, 'INTERNAL_ERROR')
    expect(await trailOf(t.database, org.id)).toEqual([])
    expect(await t.database.sql('select 1 from audit_unlinked where org_id = $1', [org.id])).toEqual([])
  })
})

describe('writers', () => {
  const entry = (orgId: string, resourceId: string): AuditEntry => ({
    orgId,
    actor: { kind: 'system' },
    action: 'org.updated',
    resourceType: 'org',
    resourceId,
  })

  const gate = () => {
    let open: () => void = () => undefined
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    return { open, opened }
  }

  test('of one org do not wait for each other: fifty have uncommitted entries at the same time', async () => {
    const service = await testService()
    const { org } = await service.org()
    const db = openDb({ url: service.database.url, log: silentLog(), poolSize: 50 })
    onTestFinished(() => db.close())
    const { audit } = service.service.modules
    const writers = 50
    let written = 0
    const all = gate()
    await Promise.all(
      Array.from({ length: writers }, (_, i) =>
        db.tx(async (tx) => {
          await audit(tx, entry(org.id, String(i)))
          if (++written === writers) all.open()
          // None commits before all have written. A writer that waited for another's commit would wait forever.
          await all.opened
        }),
      ),
    )
    expect(await trailOf(service.database, org.id)).toHaveLength(writers)
  })

  test('and linkers do not wait for each other: an uncommitted entry is skipped and linked later', async () => {
    const service = await testService()
    const { org } = await service.org()
    const { db, audit } = service.service.modules
    const { chain } = service.service
    const write = (name: string) => db.tx((tx) => audit(tx, entry(org.id, name)))
    await write('first')
    const [written, done] = [gate(), gate()]
    const open = db.tx(async (tx) => {
      await audit(tx, entry(org.id, 'open'))
      written.open()
      await done.opened
    })
    await written.opened
    await write('second')
    expect(await chain.link()).toBe(2)
    done.open()
    await open
    const client = await db.connect()
    await client.query('begin')
    await client.query('select org_id from audit_chains where org_id = $1 for update', [org.id])
    await write('while the chain is locked')
    expect(await chain.link()).toBe(0)
    await client.query('rollback')
    await client.end()
    expect(await chain.link()).toBe(2)
    const linked = await service.database.sql<{ resource_id: string }>(
      `select e.resource_id from audit_links l join audit_entries e on e.org_id = l.org_id and e.id = l.entry_id
       where l.org_id = $1 order by l.seq`,
      [org.id],
    )
    expect(linked.map((row) => row.resource_id)).toEqual(['first', 'second', 'open', 'while the chain is locked'])
    expect(await chain.verify(org.id)).toMatchObject({
      checked: 4,
      missing: [],
      broken: [],
      stray: [],
      waiting: 0,
    })
  })
})
