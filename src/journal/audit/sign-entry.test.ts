import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { tamper } from '../../../test/audit/tamper.ts'
import { startTestService } from '../../../test/service/service.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import type { AuditEntry } from './append.ts'
import { canonicalMetadata, type SignedFields, sign, signedText } from './sign-entry.ts'
import { fieldsOf, signatureStatus } from './signature-status.ts'
import type { EntryRow } from './store/entry-rows.ts'

const secret = 'audit-test-secret'
const columns = 'org_id, id, actor_user_id, action, resource_type, resource_id, metadata, created_at, signature'

const textOf = (fields: SignedFields): string => signedText(fields, canonicalMetadata(fields.metadata))

describe('signature', () => {
  const first: SignedFields = {
    id: 'aud_0001',
    orgId: 'org_0001',
    action: 'api_key.created',
    actorUserId: 'usr_0001',
    resourceType: 'api_key',
    resourceId: 'key_0001',
    metadata: { name: 'CI', environment: 'live' },
    createdAt: new Date('2026-09-01T12:00:00.000Z'),
  }
  const second: SignedFields = {
    id: 'aud_0002',
    orgId: 'org_0001',
    action: 'user.login_failed',
    actorUserId: null,
    resourceType: null,
    resourceId: null,
    metadata: { stage: 'password', ip: '203.0.113.9', email: 'ann@example.com' },
    createdAt: new Date('2026-09-01T12:00:01.000Z'),
  }

  test('A-206 AD-85 AD-89 matches the first test vector', () => {
    expect(textOf(first)).toBe(
      '["aud_0001","org_0001","api_key.created","usr_0001","api_key","key_0001",{"environment":"live","name":"CI"},"2026-09-01T12:00:00.000Z"]',
    )
    expect(sign(secret, first)).toBe('00596a59b2a92825306e7ecd02f4cf855ee93f353baa5df2b0355c3a443edda6')
  })

  test('A-206 AD-85 AD-90 matches the test vector with nulls', () => {
    expect(textOf(second)).toBe(
      '["aud_0002","org_0001","user.login_failed",null,null,null,{"email":"ann@example.com","ip":"203.0.113.9","stage":"password"},"2026-09-01T12:00:01.000Z"]',
    )
    expect(sign(secret, second)).toBe('732ff32eed5193741844d23d33bf3d7cfc88e8c5446d4bde70746090bde0ebd6')
  })

  test('A-212 AD-85 AD-87 covers absent metadata as null, and the time in ISO 8601 with milliseconds', () => {
    const at = new Date('2026-09-01T14:00:00.5+02:00')
    expect(textOf({ ...second, metadata: null, createdAt: at })).toBe(
      '["aud_0002","org_0001","user.login_failed",null,null,null,null,"2026-09-01T12:00:00.500Z"]',
    )
  })

  test.each([
    [{ b: 1, a: 2 }, '{"a":2,"b":1}'],
    [{ 9: 'x', 10: 'y', 1: 'z' }, '{"1":"z","10":"y","9":"x"}'],
    [{ b: { d: [{ z: 1, y: 2 }], c: 3 }, a: [2, 1] }, '{"a":[2,1],"b":{"c":3,"d":[{"y":2,"z":1}]}}'],
    [{ é: 1, z: 2, '😀': 3, '\uffff': 4 }, '{"z":2,"é":1,"😀":3,"\uffff":4}'],
    [
      { at: new Date(0), not: undefined, no: () => 1, list: [undefined, Number.NaN, -0] },
      '{"at":"1970-01-01T00:00:00.000Z","list":[null,null,0]}',
    ],
    [{ nul: 'a\0b', half: 'x\ud800y', 'k\0ey': 1 }, '{"half":"x\ufffdy","key":1,"nul":"ab"}'],
  ])(
    'A-210 A-211 AD-86 covers metadata %# as it will be read back, with keys sorted at every level',
    (metadata, text) => {
      expect(canonicalMetadata(metadata)).toBe(text)
      expect(canonicalMetadata(JSON.parse(text))).toBe(text)
    },
  )

  test('A-208 differs for entries that differ in one of the eight fields', () => {
    const others: SignedFields[] = [
      { ...first, id: 'aud_0003' },
      { ...first, orgId: 'org_0002' },
      { ...first, action: 'api_key.revoked' },
      { ...first, actorUserId: 'usr_0002' },
      { ...first, actorUserId: null },
      { ...first, resourceType: 'key' },
      { ...first, resourceId: 'key_0002' },
      { ...first, metadata: { environment: 'test', name: 'CI' } },
      { ...first, metadata: null },
      { ...first, createdAt: new Date('2026-09-01T12:00:00.001Z') },
      // The same characters, moved from one field to the next.
      { ...first, resourceType: 'api_key","key', resourceId: '_0001' },
    ]
    const signatures = [first, ...others].map((fields) => sign(secret, fields))
    expect(new Set(signatures).size).toBe(signatures.length)
    for (const signature of signatures) expect(signature).toMatch(/^[0-9a-f]{64}$/)
  })
})

describe('cutover', () => {
  test('A-216 A-217 defaults to 2026-08-10T00:00:00Z when it is not set or not valid', () => {
    const fallback = { text: '2026-08-10T00:00:00Z', at: new Date('2026-08-10T00:00:00Z') }
    expect(readConfig({}).auditCutover).toEqual(fallback)
    for (const text of ['', ' ', 'soon', '2026-13-01T00:00:00Z', '2026-09-01', '2026-09-01T00:00:00', '1789000000']) {
      expect(readConfig({ AUDIT_SIGNING_CUTOVER: text }).auditCutover, text).toEqual(fallback)
    }
  })

  test.each(['2025-01-02T03:04:05Z', '2025-01-02T03:04:05.678Z', '2025-01-02T05:04+02:00', '2030-01-01T00:00:00Z'])(
    'A-215 can be set to %s',
    (text) => {
      expect(readConfig({ AUDIT_SIGNING_CUTOVER: text }).auditCutover).toEqual({ text, at: new Date(text) })
    },
  )
})

describe('signature status', () => {
  const cutover = new Date('2026-08-10T00:00:00Z')
  const entry = (created: string, metadata: SignedFields['metadata'], signature?: string | null) => {
    const fields = {
      id: 'aud_1',
      orgId: 'org_1',
      action: 'user.login',
      actorUserId: 'usr_1',
      resourceType: null,
      resourceId: null,
      metadata,
      createdAt: new Date(created),
    }
    return { ...fields, signature: signature === undefined ? sign(secret, fields) : signature }
  }
  const statusOf = (...args: Parameters<typeof entry>) => signatureStatus(entry(...args), { secret, cutover })
  const [before, at, after] = ['2026-08-09T23:59:59.999Z', '2026-08-10T00:00:00.000Z', '2026-08-10T00:00:00.001Z']
  const wrong = '0'.repeat(64)

  test('a matching signature is ok, before and after the cutover', () => {
    for (const created of [before, at, after]) {
      for (const metadata of [null, {}, { a: 1 }, { a: 1, b: { c: [1, { d: 2, e: 3 }] } }]) {
        expect(statusOf(created, metadata)).toBe('ok')
      }
    }
  })

  test('A-215 AD-18 an entry without a signature is unsigned before the cutover and stripped from then on', () => {
    for (const none of [null, '']) {
      expect([statusOf(before, null, none), statusOf(at, null, none), statusOf(after, null, none)]).toEqual([
        'unsigned',
        'stripped',
        'stripped',
      ])
    }
  })

  test.each([
    [null, 'invalid'],
    [{}, 'invalid'],
    [{ a: 1 }, 'invalid'],
    [{ a: { b: 1 } }, 'invalid'],
    [{ a: [{ b: 1 }, { c: 1 }] }, 'invalid'],
    [{ a: [1, 2, 3] }, 'invalid'],
    [{ a: 1, b: 2 }, 'legacy'],
    [{ a: { b: 1, c: 2 } }, 'legacy'],
    [{ a: [[{ b: 1, c: null }]] }, 'legacy'],
  ] as const)('AD-19 a wrong signature on metadata %j is %s before the cutover and invalid after', (metadata, old) => {
    expect(statusOf(before, metadata, wrong)).toBe(old)
    expect([statusOf(at, metadata, wrong), statusOf(after, metadata, wrong)]).toEqual(['invalid', 'invalid'])
  })

  test('AD-88 a signature that is not exactly 64 lowercase hex digits is invalid', () => {
    const good = entry(after, null).signature as string
    for (const signature of [good.toUpperCase(), ` ${good}`, good.slice(0, 63), `${good}0`, 'x']) {
      expect(statusOf(after, null, signature)).toBe('invalid')
    }
  })

  test('A-218 with another secret, existing signatures are invalid', () => {
    const rotated = { secret: 'another', cutover }
    expect(signatureStatus(entry(after, { a: 1, b: 2 }), rotated)).toBe('invalid')
    expect(signatureStatus(entry(before, { a: 1 }), rotated)).toBe('invalid')
    // A changed secret cannot be distinguished from the old key order.
    expect(signatureStatus(entry(before, { a: 1, b: 2 }), rotated)).toBe('legacy')
  })
})

describe('stored entries', async () => {
  const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret } })
  afterAll(() => t.stop())
  const { keys } = await t.org()
  const cutover = readConfig({}).auditCutover.at

  const stored = async (id: string): Promise<EntryRow> =>
    (await t.database.sql<EntryRow>(`select ${columns} from audit_entries where id = $1`, [id]))[0] as EntryRow
  const statusOf = async (id: string) => signatureStatus(fieldsOf(await stored(id)), { secret, cutover })

  /** Creates a tenant and returns the id of its audit entry. */
  const writeEntry = async (): Promise<string> => {
    const { body } = await t.ask('POST', '/api/v1/tenants', {
      key: keys.live,
      body: { name: 'T', external_ref: null },
    })
    const rows = await t.database.sql<{ id: string }>('select id from audit_entries where resource_id = $1', [body.id])
    return rows[0]?.id as string
  }

  test('A-207 A-103 A-206 every entry is signed with AUDIT_SIGNING_SECRET', async () => {
    const id = await writeEntry()
    const row = await stored(id)
    expect(row.signature).toMatch(/^[0-9a-f]{64}$/)
    expect(row.signature).toBe(sign(secret, fieldsOf(row)))
    expect(await statusOf(id)).toBe('ok')
  })

  test.each([
    ['id', "'aud_' || substr(md5(id), 1, 26)"],
    ['org_id', "'org_elsewhere'"],
    ['action', "'tenant.updated'"],
    ['actor_user_id', "'usr_somebody'"],
    ['resource_type', "'project'"],
    ['resource_type', 'null'],
    ['resource_id', 'null'],
    ['metadata', `metadata || '{"name":"Other"}'`],
    ['metadata', `metadata - 'slug'`],
    ['metadata', 'null'],
    ['created_at', "created_at + interval '1 millisecond'"],
  ])('A-208 an entry whose %s was changed to %s in the database is invalid', async (column, value) => {
    const id = await writeEntry()
    expect(await statusOf(id)).toBe('ok')
    const [row] = (await tamper(t.database, [
      `update audit_entries set ${column} = ${value} where id = $1 returning ${columns}`,
      [id],
    ])) as EntryRow[]
    expect(signatureStatus(fieldsOf(row as EntryRow), { secret, cutover })).toBe('invalid')
  })

  test('A-209 IP address and user agent are not signed', async () => {
    const id = await writeEntry()
    await tamper(t.database, [
      "update audit_entries set ip_address = '198.51.100.1', user_agent = 'forged' where id = $1",
      [id],
    ])
    expect(await statusOf(id)).toBe('ok')
  })

  test('A-210 A-211 AD-86 any metadata is read back as it was signed', async () => {
    const { modules } = t.service
    const { org } = await t.org({ name: 'Metadata' })
    const keyNames = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('__proto__', '10', '9', 'a', 'b', '\0', '\ud800'),
    )
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.double(),
          fc.integer(),
          fc.boolean(),
          fc.constant(null),
          fc.date({ noInvalidDate: true }),
          fc.constant(undefined),
        ),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(keyNames, tie('tree'), { maxKeys: 4 }),
      ),
    }))
    const lists = fc.array(fc.dictionary(keyNames, tree, { maxKeys: 5 }), { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(lists, async (metadatas) => {
        await t.database.sql('delete from audit_unlinked where org_id = $1', [org.id])
        const entries = metadatas.map(
          (metadata): AuditEntry => ({
            orgId: org.id,
            actor: { kind: 'system' },
            action: 'org.updated',
            metadata,
            resourceType: null,
            resourceId: null,
          }),
        )
        await modules.db.tx((tx) => modules.audit(tx, ...entries))
        const rows = await t.database.sql<EntryRow>(
          `select ${columns} from audit_entries
           where org_id = $1 and id in (select entry_id from audit_unlinked)`,
          [org.id],
        )
        expect(rows.map((row) => signatureStatus(fieldsOf(row), { secret, cutover }))).toEqual(
          metadatas.map(() => 'ok'),
        )
      }),
      { numRuns: 100 },
    )
  })

  test('A-213 A-214 without a secret, actions work and their entries are the same but unsigned', async () => {
    const plain = await startTestService({ database: t.database })
    try {
      const body = { name: 'Same', slug: 'same' }
      const first = await t.ask('POST', '/api/v1/tenants', { key: (await t.org()).keys.live, body })
      const second = await plain.ask('POST', '/api/v1/tenants', { key: (await t.org()).keys.live, body })
      expect([first.status, second.status]).toEqual([201, 201])
      const entryOf = async (reply: typeof first) => {
        const rows = await t.database.sql<{ signature: string | null; same: unknown }>(
          `select signature, jsonb_build_object('actor', actor_user_id, 'action', action, 'type', resource_type,
             'metadata', metadata - 'api_key_id', 'ip', ip_address, 'agent', user_agent) as same
           from audit_entries where resource_id = $1`,
          [reply.body.id],
        )
        expect(rows).toHaveLength(1)
        return rows[0] as (typeof rows)[number]
      }
      const [signed, unsigned] = [await entryOf(first), await entryOf(second)]
      expect(unsigned).toEqual({ signature: null, same: signed.same })
      expect(signed.signature).toMatch(/^[0-9a-f]{64}$/)
    } finally {
      await plain.stop()
    }
  })

  test('A-218 A-219 after a rotation the service does not change the signatures of old entries', async () => {
    const old = await writeEntry()
    const before = await stored(old)
    const rotated = await startTestService({ database: t.database, env: { AUDIT_SIGNING_SECRET: 'new' } })
    try {
      const { status, body } = await rotated.ask('POST', '/api/v1/tenants', { key: keys.live, body: { name: 'After' } })
      expect(status).toBe(201)
      for (const { run } of Object.values(rotated.service.tasks)) await run()
      await rotated.service.chain.verify(before.org_id)
      expect(await stored(old)).toEqual(before)
      expect(signatureStatus(fieldsOf(before), { secret: 'new', cutover })).toBe('invalid')
      const [later] = await t.database.sql<EntryRow>(
        `select ${columns} from audit_entries where org_id = $1 and resource_id = $2`,
        [before.org_id, body.id],
      )
      expect(signatureStatus(fieldsOf(later as EntryRow), { secret: 'new', cutover })).toBe('ok')
    } finally {
      await rotated.stop()
    }
  })
})
