import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tidings } from '../../../test/service/command-line.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { startTestService, type TestService } from '../../../test/service/service.ts'
import { verifyPassword } from '../../customers/accounts/passwords.ts'
import { scopes } from '../../customers/keys/scopes.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { ops as runOps } from './ops.ts'

let database: TestDatabase
let t: TestService

/** Runs a command in this process, as main.ts does. Another test runs it through the launcher. */
const opsIn = async (env: Record<string, string>, args: string[]) => {
  let stdout = ''
  const fault = await runOps(readConfig({ DATABASE_URL: database.url, ...env }), silentLog(), args, (text) => {
    stdout += text
  }).then(
    () => undefined,
    (error: unknown) => error,
  )
  return { stdout, fault }
}
const ops = (...args: string[]) => opsIn({}, args)

beforeAll(async () => {
  database = await makeTestDatabase()
  t = await startTestService({ database })
})
afterAll(async () => {
  await t.stop()
  await database.drop()
})

const createOrg = async (...args: string[]) => JSON.parse((await ops('org', 'create', '--json', ...args)).stdout)
const request = (key: string) => t.ask('GET', '/api/v1/suppressions', { key })

describe('ops org create', () => {
  test('creates an org with working keys and prints its credentials as JSON', async () => {
    const created = await createOrg('--name', 'Über Org', '--plan', 'pro', '--owner', 'Ann@Example.com')
    expect(created).toEqual({
      base_url: 'http://127.0.0.1:3000',
      org: { id: expect.stringMatching(/^org_/), slug: 'uber-org' },
      owner: { email: 'ann@example.com', password: expect.any(String) },
      keys: { live: expect.stringMatching(/^svc_live_/), test: expect.stringMatching(/^svc_test_/) },
      domain: 'example.test',
      sms_sender: 'TIDINGS',
    })
    expect((await request(created.keys.live)).headers['x-ratelimit-plan']).toBe('pro')
    expect((await request(created.keys.test)).status).toBe(200)
    const [org] = await database.sql<Record<string, string>>(
      `select u.email, u.password_hash, u.email_verified_at is not null as verified, m.role, p.slug as project,
         p.is_default, d.name as domain, d.status as domain_status, n.sender_id, n.iso_country,
         n.status as sender_status
       from orgs o join users u on u.id = o.owner_user_id join memberships m on m.user_id = u.id and m.org_id = o.id
       join projects p on p.org_id = o.id join domains d on d.org_id = o.id join phone_numbers n on n.org_id = o.id
       where o.id = $1`,
      [created.org.id],
    )
    expect(org).toMatchObject({
      email: 'ann@example.com',
      verified: true,
      role: 'owner',
      project: 'default',
      is_default: true,
      domain: 'example.test',
      domain_status: 'verified',
      sender_id: 'TIDINGS',
      iso_country: 'GB',
      sender_status: 'verified',
    })
    expect(org?.password_hash).toMatch(/^\$argon2id\$/)
    expect(await verifyPassword(org?.password_hash as string, created.owner.password)).toBe(true)
    const keys = await database.sql<{ scopes: string[] }>('select scopes from api_keys where org_id = $1', [
      created.org.id,
    ])
    expect(keys).toEqual([{ scopes: [...scopes] }, { scopes: [...scopes] }])
  })

  test('stores no key in plain text', async () => {
    const created = await createOrg('--name', 'Clear')
    const [row] = await database.sql<Record<string, unknown>>(
      "select row_to_json(k) as row from api_keys k where environment = 'live' and org_id = $1",
      [created.org.id],
    )
    expect(JSON.stringify(row)).not.toContain(created.keys.live.slice(13, -4))
  })

  test('adds a suffix to a taken slug, and an owner with an account keeps the password', async () => {
    const first = await createOrg('--name', 'Twice', '--owner', 'bob@example.com')
    const second = await createOrg('--name', 'Twice', '--owner', 'bob@example.com')
    expect(first.org.slug).toBe('twice')
    expect(second.org.slug).toMatch(/^twice-[0-9a-z]{6}$/)
    expect(second.owner).toEqual({ email: 'bob@example.com', password: null })
  })

  test('creates no domain and no sender in production', async () => {
    const env = {
      NODE_ENV: 'production',
      SERVICE_DOMAIN: 'tidings.example',
      MASTER_KEY: randomBytes(32).toString('base64'),
      EMAIL_PROVIDER: 'ses',
      BASE_URL: 'https://api.tidings.example',
    }
    const { stdout } = await opsIn(env, ['org', 'create', '--name', 'Prod', '--json'])
    const created = JSON.parse(stdout)
    expect([created.domain, created.sms_sender]).toEqual([null, null])
    expect(await database.sql('select 1 from domains where org_id = $1', [created.org.id])).toEqual([])
  })

  test('prints readable text without --json', async () => {
    const { code, stdout } = await tidings(['ops', 'org', 'create', '--name', 'Human'], {
      DATABASE_URL: database.url,
    })
    expect(code).toBe(0)
    expect(stdout).toContain('live key       svc_live_')
    expect(stdout).toContain('curl http://127.0.0.1:3000/api/v1/emails')
  })
})

describe('ops org suspend, unsuspend, status', () => {
  test('a running service refuses a suspended org until it is unsuspended', async () => {
    const { org, keys } = await createOrg('--name', 'Suspendable')
    expect((await request(keys.live)).status).toBe(200)
    const first = await ops('org', 'suspend', org.id, '--reason', 'unpaid bills', '--operator', 'kim')
    expect(first.stdout).toBe(`${org.id} is now suspended.\n`)
    await expect.poll(async () => (await request(keys.live)).body?.error?.code).toBe('ORG_SUSPENDED')
    const [row] = await database.sql<{ suspended_at: Date }>('select suspended_at from orgs where id = $1', [org.id])
    const second = await ops('org', 'suspend', org.id, '--reason', 'other', '--operator', 'kim')
    expect(second.stdout).toBe(`${org.id} has already been suspended since ${row?.suspended_at.toISOString()}.\n`)
    const status = JSON.parse((await ops('org', 'status', org.id, '--json')).stdout)
    expect(status).toMatchObject({
      id: org.id,
      suspension_reason: 'unpaid bills',
      suspended_at: row?.suspended_at.toISOString(),
    })
    expect((await ops('org', 'unsuspend', org.id, '--operator', 'kim')).stdout).toBe(
      `${org.id} is no longer suspended.\n`,
    )
    await expect.poll(async () => (await request(keys.live)).status).toBe(200)
    expect((await ops('org', 'unsuspend', org.id, '--operator', 'kim')).stdout).toBe(`${org.id} was not suspended.\n`)
  })
})

describe('ops org plan', () => {
  test('sets the plan and its limits, and a running service applies them', async () => {
    const { org, keys } = await createOrg('--name', 'Grows', '--plan', 'free')
    expect((await request(keys.live)).headers['x-ratelimit-limit']).toBe('60')
    const { stdout } = await ops(
      'org',
      'plan',
      org.id,
      'enterprise',
      '--rate',
      '250000',
      '--email',
      '5000000',
      '--json',
    )
    expect(JSON.parse(stdout)).toMatchObject({
      plan: 'enterprise',
      rate_per_minute: 250_000,
      email_monthly: 5_000_000,
      sms_monthly: null,
    })
    await expect.poll(async () => (await request(keys.live)).headers['x-ratelimit-limit']).toBe('250000')
    // An omitted limit is kept on the same plan, and reset by a change of plan.
    expect(JSON.parse((await ops('org', 'plan', org.id, 'enterprise', '--sms', '7', '--json')).stdout)).toMatchObject({
      rate_per_minute: 250_000,
      email_monthly: 5_000_000,
      sms_monthly: 7,
    })
    expect(JSON.parse((await ops('org', 'plan', org.id, 'pro', '--json')).stdout)).toMatchObject({
      rate_per_minute: 600,
      email_monthly: null,
      sms_monthly: null,
    })
  })
})

describe('ops key create', () => {
  test('creates a key with the given scopes and environment', async () => {
    const { org } = await createOrg('--name', 'Keyed')
    const { stdout } = await ops(
      'key',
      'create',
      org.id,
      '--environment',
      'test',
      '--name',
      'CI',
      '--scopes',
      'read:suppressions,send:email',
      '--json',
    )
    const created = JSON.parse(stdout)
    expect(created).toEqual({
      id: expect.stringMatching(/^key_/),
      key: expect.stringMatching(/^svc_test_/),
      environment: 'test',
    })
    expect((await request(created.key)).status).toBe(200)
    const write = await t.ask('POST', '/api/v1/suppressions', {
      key: created.key,
      body: { channel: 'email', value: 'a@b.co' },
    })
    expect(write.body.error.code).toBe('INSUFFICIENT_SCOPE')
  })
})

describe('mistakes', () => {
  const unknown = newId('org')
  test.each([
    [['org', 'create'], '--name is required.'],
    [['org', 'create', '--name', ' '], '--name is required.'],
    [
      ['org', 'create', '--name', 'x', '--plan', 'gold'],
      'Plan gold does not exist. Use one of free, payg, pro, enterprise.',
    ],
    [['org', 'create', '--name', 'x', '--owner', 'nobody'], '--owner must be an email address.'],
    [['org', 'suspend', unknown, '--operator', 'kim'], '--reason is required.'],
    [['org', 'suspend', unknown, '--reason', 'x'], '--operator is required.'],
    [['org', 'suspend', unknown, '--reason', 'x', '--operator', 'kim'], `Org ${unknown} does not exist.`],
    [['org', 'status', 'acme'], 'An org id (org_…) is required.'],
    [['org', 'status', unknown], `Org ${unknown} does not exist.`],
    [['org', 'plan', unknown, 'pro'], `Org ${unknown} does not exist.`],
    [['org', 'plan', unknown, 'pro', '--rate', '0'], '--rate must be a whole number of at least 1.'],
    [['org', 'plan', unknown], 'A plan is required: one of free, payg, pro, enterprise.'],
    [['key', 'create', unknown], `Org ${unknown} does not exist.`],
    [['org', 'destroy'], 'Unknown command.'],
    [[], 'Unknown command.'],
    [['org', 'create', '--nmae', 'x'], "Unknown option '--nmae'"],
  ])('tidings ops %j fails with %j', async (args, message) => {
    const before = await database.sql('select count(*) from orgs')
    const { fault, stdout } = await ops(...args).catch((fault: unknown) => ({ fault, stdout: '' }))
    expect(fault).toBeInstanceOf(OperatorFault)
    expect((fault as OperatorFault).message).toContain(message)
    expect(stdout).toBe('')
    expect(await database.sql('select count(*) from orgs')).toEqual(before)
  })

  test('an unknown command, an invalid configuration and an unreachable database are reported without a stack trace', async () => {
    const invalid = await tidings(['ops', 'org', 'status', 'acme'], { DATABASE_URL: database.url })
    expect([invalid.code, invalid.stdout, invalid.stderr.split('\n')[0]]).toEqual([
      1,
      '',
      'An org id (org_…) is required.',
    ])
    expect(invalid.stderr).not.toMatch(/^\s+at /m)
    const unknown = await tidings(['dance'], {})
    expect([unknown.code, unknown.stderr.split('\n')[0]]).toEqual([1, 'Unknown command: dance.'])
    const faulty = await tidings(['start'], { PORT: 'x', TRUSTED_PROXY_HOPS: '-1' })
    expect(faulty.code).toBe(1)
    expect(faulty.stderr.trim().split('\n')).toEqual([
      'The configuration has 2 problems:',
      '  PORT must be a whole number from 0 to 65535, not "x".',
      '  TRUSTED_PROXY_HOPS must be a whole number from 0 to 16, not "-1".',
    ])
    const unreachable = await tidings(['migrate'], {
      DATABASE_URL: 'postgres://someone:hunter2@127.0.0.1:1/tidings',
    })
    expect([unreachable.code, unreachable.stderr.trim()]).toEqual([
      1,
      'Cannot connect to the database tidings at 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1. Check DATABASE_URL.',
    ])
    expect((await tidings(['help'], {})).stdout).toContain('tidings start')
  })
})
