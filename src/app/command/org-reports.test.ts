import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { trailOf, withTrail } from '../../../test/audit/trail.ts'
import { tidings } from '../../../test/service/command-line.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { startTestService, type TestService } from '../../../test/service/service.ts'
import { plans } from '../../customers/orgs/plans.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { ops as runOps } from './ops.ts'

let database: TestDatabase
let t: TestService
beforeAll(async () => {
  database = await makeTestDatabase()
  t = await startTestService({ database })
})
afterAll(async () => {
  await t.stop()
  await database.drop()
})

const ops = async (...args: string[]): Promise<string> => {
  let stdout = ''
  await runOps(readConfig({ DATABASE_URL: database.url }), silentLog(), args, (text) => {
    stdout += text
  })
  return stdout
}
const opsJson = async (...args: string[]) => JSON.parse(await ops(...args, '--json'))

type Limit = { name: string; limit: unknown; used: unknown; source: string }
const limitsOf = async (orgId: string): Promise<Record<string, Omit<Limit, 'name'>>> => {
  const { limits } = (await opsJson('org', 'status', orgId)) as { limits: Limit[] }
  return Object.fromEntries(limits.map(({ name, ...rest }) => [name, rest]))
}

describe('ops org status', () => {
  test('Shows every limit with what was used and where the limit comes from', async () => {
    const { org, keys } = await t.org({ plan: 'pro' })
    const send = (key: string, to: string[]) =>
      t.ask('POST', '/api/v1/emails', {
        key,
        body: { from: 'shop@example.test', to, subject: 'Hi', text: 'Hello.' },
      })
    expect((await send(keys.live, ['a@example.com', 'b@example.com'])).status).toBe(200)
    expect((await send(keys.test, ['a@example.com'])).status).toBe(200)
    expect(await limitsOf(org.id)).toEqual({
      requests_per_minute: { limit: 600, used: null, source: 'plan' },
      email_per_month: { limit: 100_000, used: 2, source: 'plan' },
      sms_per_month: { limit: 10_000, used: 0, source: 'plan' },
      spend_usd_per_month: { limit: null, used: '0.000000', source: 'none' },
      test_messages_per_day: { limit: 10_000, used: 1, source: 'plan' },
      sandbox_recipients_per_day: { limit: 100, used: 0, source: 'service' },
      api_keys: { limit: 100, used: null, source: 'plan' },
      domains: { limit: 50, used: null, source: 'plan' },
      projects: { limit: 25, used: null, source: 'plan' },
      webhook_endpoints: { limit: 25, used: null, source: 'plan' },
      tenants: { limit: 1_000, used: null, source: 'plan' },
      phone_numbers: { limit: 100, used: null, source: 'plan' },
      messaging_pools: { limit: 25, used: null, source: 'plan' },
      audiences: { limit: 500, used: null, source: 'plan' },
      dedicated_ips: { limit: 2, used: null, source: 'plan' },
    })
  })

  test('A contract and a spend cap of the org replace the figures of the plan', async () => {
    const { org } = await t.org({ plan: 'payg' })
    expect(await limitsOf(org.id)).toMatchObject({ email_per_month: { limit: null, source: 'plan' } })
    await ops('org', 'plan', org.id, 'payg', '--rate', '50', '--email', '7')
    await database.sql('update orgs set spend_cap_micros = 12500000 where id = $1', [org.id])
    expect(await limitsOf(org.id)).toMatchObject({
      requests_per_minute: { limit: 50, source: 'contract' },
      email_per_month: { limit: 7, source: 'contract' },
      sms_per_month: { limit: null, source: 'plan' },
      spend_usd_per_month: { limit: '12.50', source: 'org' },
    })
  })

  test.each(plans)('The rate and the email quota of plan %s are those that the API reports', async (plan) => {
    const { org, keys } = await t.org({ plan })
    const limits = await limitsOf(org.id)
    const usage = await t.ask('GET', '/api/v1/usage', { key: keys.live })
    expect(usage.headers['x-ratelimit-limit']).toBe(String(limits.requests_per_minute?.limit))
    expect(usage.body.email.limit).toBe(limits.email_per_month?.limit)
    expect(usage.body.sms.limit).toBe(limits.sms_per_month?.limit)
  })

  test('Without --json the limits are a table', async () => {
    const { org } = await t.org({ plan: 'payg' })
    const lines = (await ops('org', 'status', org.id)).split('\n')
    expect(lines[0]).toBe(`id                 ${org.id}`)
    expect(lines.find((line) => line.startsWith('limit '))).toBe(
      'limit                       used      of         from',
    )
    expect(lines.find((line) => line.startsWith('email_per_month'))).toBe(
      'email_per_month             0         unlimited  plan',
    )
  })
})

describe('ops org list', () => {
  test('Lists every org once, newest first, page by page', async () => {
    for (let i = 0; i < 3; i++) await t.org({ name: `Listed ${i}` })
    const ids = (await database.sql<{ id: string }>('select id from orgs order by id desc')).map(({ id }) => id)
    const listed: string[] = []
    let cursor: string | null = null
    do {
      const page = (await opsJson('org', 'list', '--limit', '2', ...(cursor ? ['--cursor', cursor] : []))) as {
        data: { id: string }[]
        has_more: boolean
        next_cursor: string | null
      }
      expect(page.has_more).toBe(page.next_cursor !== null)
      expect(page.data.length).toBeLessThanOrEqual(2)
      listed.push(...page.data.map(({ id }) => id))
      cursor = page.next_cursor
    } while (cursor !== null)
    expect(listed).toEqual(ids)
    expect((await opsJson('org', 'list')).data.map(({ id }: { id: string }) => id)).toEqual(ids)
  })

  test('Prints one line per org without control characters, and how to continue', async () => {
    const { org } = await t.org({ plan: 'free' })
    await database.sql("update orgs set name = E'Ac\\x1b[31mme', suspended_at = created_at where id = $1", [org.id])
    const text = await ops('org', 'list', '--limit', '1')
    const [line, , hint] = text.split('\n')
    expect(line).toMatch(new RegExp(`^${org.id}  free  suspended  \\S+Z  Ac\\?\\[31mme$`))
    expect(hint).toMatch(/^There are more\. Continue with --cursor \S+$/)
  })
})

describe('ops key list and revoke', () => {
  test('Lists the keys of the org with their state, and never a secret or a hash', async () => {
    const { org, keys } = await t.org()
    const expired = await t.key(org.id, { expiresAt: new Date(1_000) })
    await t.org()
    const { data, has_more } = await opsJson('key', 'list', org.id)
    expect(has_more).toBe(false)
    const states = Object.fromEntries(
      data.map((row: { last_four: string; state: string }) => [row.last_four, row.state]),
    )
    expect(states).toEqual({
      [keys.live.slice(-4)]: 'active',
      [keys.test.slice(-4)]: 'active',
      [expired.slice(-4)]: 'expired',
    })
    const text = await ops('key', 'list', org.id)
    expect(text.trim().split('\n')).toHaveLength(3)
    for (const key of [keys.live, keys.test, expired]) {
      expect(text).toContain(`${key.slice(0, 13)}…${key.slice(-4)}`)
      expect(text + JSON.stringify(data)).not.toContain(key.slice(13, -4))
    }
    const first = await opsJson('key', 'list', org.id, '--limit', '2')
    const rest = await opsJson('key', 'list', org.id, '--cursor', first.next_cursor)
    expect([...first.data, ...rest.data]).toEqual(data)
  })

  test('A revoked key is refused by a running service, and one audit entry names the operator', async () => {
    const { org, keys } = await t.org()
    const { data } = await opsJson('key', 'list', org.id)
    const { id } = data.find((row: { environment: string }) => row.environment === 'live')
    const status = async (key: string) => (await t.ask('GET', '/api/v1/suppressions', { key })).status
    expect(await status(keys.live)).toBe(200)
    const { result, trail } = await withTrail(database, org.id, () =>
      ops('key', 'revoke', org.id, id, '--operator', 'kim'),
    )
    expect(result).toBe(`${id} is now revoked.\n`)
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'api_key.revoked',
        resource_type: 'api_key',
        resource_id: id,
        actor_user_id: null,
        metadata: expect.objectContaining({ environment: 'live', operator: 'kim' }),
      }),
    ])
    await expect.poll(() => status(keys.live)).toBe(401)
    expect(await status(keys.test)).toBe(200)

    const again = await withTrail(database, org.id, () => ops('key', 'revoke', org.id, id, '--operator', 'lee'))
    const shown = (await opsJson('key', 'list', org.id)).data.find((row: { id: string }) => row.id === id)
    expect(again).toEqual({ result: `${id} has already been revoked since ${shown.revoked_at}.\n`, trail: [] })
    expect(shown.state).toBe('revoked')
  })

  test('A key of another org is not revoked', async () => {
    const [mine, other] = [await t.org(), await t.org()]
    const { data } = await opsJson('key', 'list', other.org.id)
    const before = await trailOf(database, other.org.id)
    await expect(ops('key', 'revoke', mine.org.id, data[0].id, '--operator', 'kim')).rejects.toThrow(
      `Key ${data[0].id} does not exist in org ${mine.org.id}.`,
    )
    expect((await opsJson('key', 'list', other.org.id)).data).toEqual(data)
    expect(await trailOf(database, other.org.id)).toEqual(before)
  })
})

test.each([
  [['org', 'list', '--limit', '0'], '--limit must be a whole number from 1 to 1000.'],
  [['org', 'list', '--limit', '1001'], '--limit must be a whole number from 1 to 1000.'],
  [['org', 'list', '--cursor', 'x'], '--cursor must be the next cursor of an earlier page.'],
  [['key', 'list', newId('org')], 'does not exist.'],
  [['key', 'list'], 'An org id (org_…) is required.'],
  [['key', 'revoke', newId('org')], 'A key id (key_…) is required.'],
  [['key', 'revoke', newId('org'), newId('key')], '--operator is required.'],
])('tidings ops %j fails with %j', async (args, message) => {
  const fault = await ops(...args).catch((error: unknown) => error)
  expect(fault).toBeInstanceOf(OperatorFault)
  expect((fault as OperatorFault).message).toContain(message)
})

test('tidings --version prints the version of the package without reading the configuration', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  const ran = await tidings(['--version'], { PORT: 'invalid' })
  expect(ran).toEqual({ code: 0, stdout: `tidings ${version}\n`, stderr: '' })
})
