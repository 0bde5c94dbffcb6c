import { afterAll, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { person } from '../../../test/clients/team-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())
const path = '/api/internal/user/data-export'

const addEntries = (orgId: string, userId: string, count: number) =>
  t.database.sql(
    `insert into audit_entries (org_id, id, actor_user_id, action, metadata, created_at, signature)
     select $1, 'aud_' || lpad(n::text, 26, '0'), $2, 'template.created', '{"token": "hidden-token", "n": 1}', $4,
       'hidden-signature'
     from generate_series(1, $3::int) n`,
    [orgId, userId, count, t.service.clock.now()],
  )

test('A-317 A-318 A-319 A-320 the export has profile, memberships, sessions and second factor, and no secret', async () => {
  const { org } = await t.org()
  const ann = await person(t, { orgId: org.id, role: 'viewer', passwordHash: '$argon2id$hidden' })
  await t.database.sql(
    "update users set totp_secret = 'hidden-totp', totp_enabled_at = created_at, phone = '+15005550001' where id = $1",
    [ann.userId],
  )
  await t.database.sql(
    `insert into backup_codes (user_id, code_hash, used_at, created_at)
     values ($1, 'hidden-1', null, $2), ($1, 'hidden-2', $2, $2)`,
    [ann.userId, t.service.clock.now()],
  )
  await t.database.sql(
    "insert into sign_in_identities (issuer, subject, user_id, created_at) values ('https://id.test', 's', $1, $2)",
    [ann.userId, t.service.clock.now()],
  )
  const reply = await ann.ask('POST', path)
  expect(reply.status).toBe(200)
  expect(reply.headers['content-disposition']).toBe('attachment; filename="data-export.json"')
  expect(reply.headers['content-type']).toBe('application/json')
  expect(reply.body).toEqual({
    generated_at: expect.any(String),
    profile: {
      id: ann.userId,
      email: ann.email,
      name: 'Ann Lee',
      phone: '+15005550001',
      email_verified_at: expect.any(String),
      created_at: expect.any(String),
      linked_providers: ['https://id.test'],
    },
    memberships: [{ org_id: org.id, org_name: expect.any(String), role: 'viewer', created_at: expect.any(String) }],
    sessions: [
      {
        id: expect.stringMatching(/^ses_/),
        method: 'credentials',
        ip_address: null,
        user_agent: 'test',
        created_at: expect.any(String),
        last_active_at: expect.any(String),
      },
    ],
    two_factor: { enabled: true, enabled_at: expect.any(String), backup_codes_left: 1 },
    audit_entries: [],
    audit_entries_truncated: false,
  })
  expect(reply.text).not.toMatch(/hidden|argon2|token_hash/)
})

test('A-137 each export writes one entry under the active org', async () => {
  const { org } = await t.org()
  const ann = await person(t, { orgId: org.id, role: 'viewer' })
  const { result, trail } = await withTrail(t.database, org.id, () => ann.ask('POST', path))
  expect(result.status).toBe(200)
  expect(trail).toMatchObject([
    { action: 'user.data_exported', actor_user_id: ann.userId, resource_type: 'user', resource_id: ann.userId },
  ])
})

test('A-321 A-322 it has the newest 10,000 entries of the user over all orgs and none of others', async () => {
  const [a, b] = [(await t.org()).org, (await t.org()).org]
  const ann = await person(t, { orgId: a.id })
  const bob = await person(t, { orgId: a.id })
  await addEntries(a.id, ann.userId, 10_000)
  await addEntries(b.id, bob.userId, 3)
  const exactly = (await ann.ask('POST', path)).body
  expect([exactly.audit_entries.length, exactly.audit_entries_truncated]).toEqual([10_000, false])
  expect(new Set(exactly.audit_entries.map((entry: { orgId: string }) => entry.orgId))).toEqual(new Set([a.id]))
  const newest = newId('auditEntry')
  await t.database.sql(
    "insert into audit_entries (org_id, id, actor_user_id, action, created_at) values ($1, $2, $3, 'org.updated', $4)",
    [b.id, newest, ann.userId, t.service.clock.now()],
  )
  const reply = await ann.ask('POST', path)
  expect([reply.body.audit_entries.length, reply.body.audit_entries_truncated]).toEqual([10_000, true])
  // The first export is an entry of its own.
  expect(reply.body.audit_entries[0]).toEqual({
    id: newest,
    orgId: b.id,
    action: 'org.updated',
    resourceType: null,
    resourceId: null,
    metadata: null,
    ipAddress: null,
    userAgent: '',
    createdAt: expect.any(String),
  })
  expect(reply.text).not.toMatch(/hidden|actorUserId/)
})

test('A-316 a person without an org gets it too, five times an hour', async () => {
  const ann = await person(t)
  for (let n = 0; n < 5; n++) expect((await ann.ask('POST', path)).status).toBe(200)
  const refused = await ann.ask('POST', path)
  expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
  const bob = await person(t)
  expect((await bob.ask('POST', path)).status).toBe(200)
})
