import { createPrivateKey, createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DomainClient, domainClient, runDomains } from '../../../test/clients/domain-client.ts'
import { keyClient } from '../../../test/clients/key-client.ts'
import { startTestService, type TestService, testService } from '../../../test/service/service.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import type { Code } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { type DomainSender, type Sender, type SendingCaller, warmupCap } from './sender.ts'

let t: TestService
let acme: CreatedOrg
let domains: DomainClient
let defaultProject: string
let firstDomain: string
beforeAll(async () => {
  t = await startTestService()
  acme = await t.org()
  domains = domainClient(t, acme)
  ;({ projectId: defaultProject, domainId: firstDomain } = await keyClient(t, acme))
})
afterAll(() => t.stop())

const callerOf = (more: Partial<SendingCaller> = {}): SendingCaller => ({
  orgId: acme.org.id,
  tenantId: null,
  environment: 'live',
  projectId: null,
  allowedDomainIds: null,
  ...more,
})
const resolve = async (name: string, more: Partial<SendingCaller> = {}): Promise<Sender> =>
  t.service.modules.senders.resolve(callerOf(more), name)
const senderOf = async (name: string, more: Partial<SendingCaller> = {}): Promise<DomainSender> =>
  (await resolve(name, more)) as DomainSender
const isRejected = (code: Code, name: string, more: Partial<SendingCaller> = {}) =>
  expect(resolve(name, more), `${code} ${name}`).rejects.toMatchObject({ code })

const project = async (name: string): Promise<string> =>
  (await t.ask('POST', '/api/v1/projects', { key: acme.keys.live, body: { name } })).body.id
/** Adds a .test domain, which the first check verifies. */
const verified = async (name: string, more: object = {}): Promise<string> => {
  const id = await domains.added(name, acme.keys.live, more)
  await domains.verify(id)
  return id
}

describe('a verified domain', () => {
  test('S-097 returns all that a send needs, with the private key of the published one', async () => {
    const id = await verified('full.test', { region: 'eu-west-1', return_path: 'bounce' })
    const sender = await senderOf('Full.TEST')
    expect(sender).toEqual({
      kind: 'domain',
      domainId: id,
      name: 'full.test',
      projectId: defaultProject,
      tenantId: null,
      region: 'eu-west-1',
      ipPool: null,
      returnPath: 'bounce.full.test',
      dkim: {
        domain: 'full.test',
        selector: 'svc1',
        privateKey: expect.stringMatching(/^-----BEGIN PRIVATE KEY-----/),
      },
      warmup: null,
    })
    const published = (await domains.get(id)).body.records[0].value.replace(/.*p=/, '')
    const derived = createPublicKey(createPrivateKey(sender.dkim?.privateKey as string))
    expect(derived.export({ type: 'spki', format: 'der' }).toString('base64')).toBe(published)
  })

  test('XD-19 has a return path only while both records of its return host are found', async () => {
    const id = await verified('bounces.test')
    const set = async (statuses: object) => {
      await t.database.sql('update domains set record_statuses = $2 where id = $1', [id, statuses])
      t.service.modules.senders.forgetAll()
      return (await senderOf('bounces.test')).returnPath
    }
    expect(await set({ RETURN_PATH: 'found', SPF: 'found' })).toBe('send.bounces.test')
    expect(await set({ RETURN_PATH: 'found', SPF: 'mismatch' })).toBeNull()
    expect(await set({ RETURN_PATH: 'pending', SPF: 'found' })).toBeNull()
    expect(await set({})).toBeNull()
  })

  test('of a new org has a DKIM key', async () => {
    expect((await senderOf('example.test')).dkim).toMatchObject({ domain: 'example.test', selector: 'svc1' })
  })

  test('without a DKIM key sends unsigned mail', async () => {
    const id = await verified('unsigned.test')
    await t.database.sql('update domains set dkim_private_key = null where id = $1', [id])
    await expect.poll(async () => (await senderOf('unsigned.test')).dkim).toBeNull()
  })
})

describe('the order of the checks', () => {
  test('X-192 S-097 an unknown or pending domain and a subdomain of a verified one are not verified', async () => {
    await verified('parent.test')
    await domains.added('pending.example')
    for (const name of ['nowhere.example', 'pending.example', 'mail.parent.test', 'test', '', 'a b', '%00']) {
      await isRejected('SENDER_DOMAIN_NOT_VERIFIED', name)
    }
    const other = await t.org({ name: 'Other' })
    await isRejected('SENDER_DOMAIN_NOT_VERIFIED', 'parent.test', { orgId: other.org.id })
  })

  test('X-010 X-186 the restrictions of the key are checked first', async () => {
    const inProject = await project('Restricted')
    const id = await verified('listed.test')
    const pending = await domains.added('listed-pending.example')
    await isRejected('DOMAIN_NOT_ALLOWED_FOR_KEY', 'example.test', { allowedDomainIds: [id] })
    await isRejected('DOMAIN_NOT_ALLOWED_FOR_KEY', 'nowhere.example', { allowedDomainIds: [id] })
    await isRejected('DOMAIN_NOT_ALLOWED_FOR_KEY', 'listed.test', { allowedDomainIds: [] })
    await isRejected('DOMAIN_NOT_ALLOWED_FOR_KEY', 'listed.test', { projectId: inProject })
    await isRejected('DOMAIN_NOT_ALLOWED_FOR_KEY', 'listed.test', {
      projectId: inProject,
      allowedDomainIds: [id],
    })
    await isRejected('SENDER_DOMAIN_NOT_VERIFIED', 'listed-pending.example', { allowedDomainIds: [pending] })
    expect((await senderOf('listed.test', { allowedDomainIds: [id, pending] })).domainId).toBe(id)
    expect((await senderOf('listed.test', { projectId: defaultProject })).domainId).toBe(id)
  })

  test("X-185 XD-09 another tenant's domain is rejected, and the org's own domain is open to all tenants", async () => {
    const [own, sibling] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
    const theirs = await verified('theirs.test', { tenant_id: sibling })
    const pending = await domains.added('theirs-pending.example', acme.keys.live, { tenant_id: sibling })
    await isRejected('DOMAIN_TENANT_MISMATCH', 'theirs.test', { tenantId: own })
    // The tenant is checked before verification, and the key before both.
    await isRejected('DOMAIN_TENANT_MISMATCH', 'theirs-pending.example', { tenantId: own })
    await isRejected('DOMAIN_NOT_ALLOWED_FOR_KEY', 'theirs.test', { tenantId: own, allowedDomainIds: [pending] })
    await isRejected('DOMAIN_TENANT_MISMATCH', 'theirs.test', { tenantId: own, allowedDomainIds: [theirs] })
    expect((await senderOf('theirs.test', { tenantId: sibling })).tenantId).toBe(sibling)
    expect((await senderOf('theirs.test')).domainId).toBe(theirs)
    expect((await senderOf('example.test', { tenantId: own })).domainId).toBe(firstDomain)
  })

  test('X-317 X-264 a paused pool is checked last, and sends pass again after it is resumed', async () => {
    const pool = await t.ask('POST', '/api/v1/ip-pools', { key: acme.keys.live, body: { name: 'main' } })
    const poolId = pool.body.id as string
    const pause = (paused: boolean) =>
      t.ask('PATCH', `/api/v1/ip-pools/${poolId}`, { key: acme.keys.live, body: { paused } })
    const id = await verified('pooled.test')
    const waiting = await domains.added('pooled-pending.example')
    for (const one of [id, waiting]) await domains.patch(one, { ip_pool_id: poolId })
    expect((await senderOf('pooled.test')).ipPool).toBe('main')
    await pause(true)
    await isRejected('IP_POOL_PAUSED', 'pooled.test')
    await isRejected('SENDER_DOMAIN_NOT_VERIFIED', 'pooled-pending.example')
    await t.service.modules.senders.assertTestAllowed(callerOf({ environment: 'test' }), 'pooled.test')
    await pause(false)
    expect((await senderOf('pooled.test')).ipPool).toBe('main')
    await domains.patch(id, { ip_pool_id: null })
    expect((await senderOf('pooled.test')).ipPool).toBeNull()
  })
})

describe('a domain that a test key added', () => {
  test('X-052 cannot send live mail and does not hide a live domain of the same name', async () => {
    const [own, sibling] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
    const inProject = await project('Test and live')
    const ofTest = async (name: string, more: object = {}) => {
      const id = await domains.added(name, acme.keys.test, more)
      expect((await domains.verify(id, acme.keys.test)).body.status).toBe('verified')
      return id
    }
    const id = await ofTest('of-test.test', { tenant_id: sibling })
    await isRejected('SENDER_DOMAIN_NOT_VERIFIED', 'of-test.test')
    await isRejected('SENDER_DOMAIN_NOT_VERIFIED', 'of-test.test', { tenantId: own })
    await isRejected('DOMAIN_NOT_ALLOWED_FOR_KEY', 'of-test.test', { allowedDomainIds: [id] })
    await isRejected('DOMAIN_NOT_ALLOWED_FOR_KEY', 'of-test.test', { projectId: defaultProject })
    const tester = callerOf({ environment: 'test', allowedDomainIds: [id], projectId: defaultProject })
    await t.service.modules.senders.assertTestAllowed(tester, 'of-test.test')
    // The test-mode row is in the default project, so it would be preferred.
    await ofTest('of-both.test')
    const ofLive = await verified('of-both.test', { project_id: inProject })
    expect((await senderOf('of-both.test')).domainId).toBe(ofLive)
  })
})

describe('one name in several projects', () => {
  test("XD-18 the caller's tenant and project come first, then the default project, then the oldest", async () => {
    const [one, two] = [await project('One'), await project('Two')]
    const tenantId = await t.tenant(acme.org.id)
    const inOne = await verified('many.test', { project_id: one })
    const inTwo = await verified('many.test', { project_id: two, tenant_id: tenantId })
    const idOf = async (more: Partial<SendingCaller> = {}) => (await senderOf('many.test', more)).domainId
    expect(await idOf()).toBe(inOne)
    const inDefault = await verified('many.test')
    expect(await idOf()).toBe(inDefault)
    expect(await idOf({ projectId: one })).toBe(inOne)
    expect(await idOf({ projectId: two })).toBe(inTwo)
    expect(await idOf({ tenantId })).toBe(inTwo)
    expect(await idOf({ allowedDomainIds: [inOne, inTwo] })).toBe(inOne)
    expect(await idOf({ tenantId: await t.tenant(acme.org.id) })).toBe(inDefault)
    expect((await senderOf('many.test', { projectId: one })).dkim?.selector).toBe('svc1')
    expect((await senderOf('many.test')).dkim?.selector).toBe('svc3')
  })

  test('XD-19 a verified row is used when the preferred one is not verified', async () => {
    const inProject = await project('Verified')
    const other = await verified('half.test', { project_id: inProject })
    await domains.added('half.test')
    expect((await senderOf('half.test')).domainId).toBe(other)
    await isRejected('SENDER_DOMAIN_NOT_VERIFIED', 'half.test', { projectId: defaultProject })
  })
})

describe('the sandbox sender', () => {
  test('S-101 is verified only for its own org', async () => {
    const other = await t.org({ name: 'Sandboxed elsewhere' })
    const own = `${acme.org.slug}.sandbox.tidings.test`
    expect(await resolve(own)).toEqual({ kind: 'sandbox', name: own })
    expect(await resolve(own.toUpperCase())).toEqual({ kind: 'sandbox', name: own })
    expect(await resolve(own, { tenantId: await t.tenant(acme.org.id) })).toEqual({
      kind: 'sandbox',
      name: own,
    })
    const theirs = `${other.org.slug}.sandbox.tidings.test`
    for (const name of [theirs, 'sandbox.tidings.test', `a.${own}`, 'nobody.sandbox.tidings.test', 'tidings.test']) {
      await isRejected('SENDER_DOMAIN_NOT_VERIFIED', name)
    }
    await isRejected('SENDER_DOMAIN_NOT_VERIFIED', own, { orgId: other.org.id })
  })

  test('X-010 XD-18 cannot be used by a key that is restricted to domains or to a project', async () => {
    const own = `${acme.org.slug}.sandbox.tidings.test`
    await isRejected('DOMAIN_NOT_ALLOWED_FOR_KEY', own, { allowedDomainIds: [firstDomain] })
    await isRejected('DOMAIN_NOT_ALLOWED_FOR_KEY', own, { projectId: defaultProject })
  })
})

describe('test sends', () => {
  test('X-192 X-010 need no verified domain, but the restrictions of the key apply', async () => {
    const { assertTestAllowed } = t.service.modules.senders
    const tester = (more: Partial<SendingCaller> = {}) => callerOf({ environment: 'test', ...more })
    for (const name of ['nowhere.example', 'example.test', 'a b']) {
      await expect(assertTestAllowed(tester(), name)).resolves.toBeUndefined()
    }
    const pending = await domains.added('simulated.example')
    await assertTestAllowed(tester({ allowedDomainIds: [pending] }), 'Simulated.example')
    await assertTestAllowed(tester({ projectId: defaultProject }), 'simulated.example')
    for (const [name, more] of [
      ['example.test', { allowedDomainIds: [pending] }],
      ['nowhere.example', { allowedDomainIds: [pending] }],
      ['simulated.example', { projectId: newId('project') }],
      [`${acme.org.slug}.sandbox.tidings.test`, { allowedDomainIds: [pending] }],
    ] as const) {
      await expect(assertTestAllowed(tester(more), name)).rejects.toMatchObject({
        code: 'DOMAIN_NOT_ALLOWED_FOR_KEY',
      })
    }
  })
})

describe('warmup', () => {
  test('X-315 A-301 AD-117 the cap is 50 times 2 to the power of the UTC day and ends with the window', () => {
    const warmup = { startedAt: new Date('2026-03-05T23:59:59.999Z'), days: 3 }
    const caps = ['05T23:59:59.999', '06T00:00:00.000', '07T12:00:00.000', '07T23:59:59.999', '08T00:00:00.000']
    expect(caps.map((at) => warmupCap(warmup, new Date(`2026-03-${at}Z`)))).toEqual([50, 100, 200, 200, null])
    expect(warmupCap({ ...warmup, days: 30 }, new Date('2026-04-03T00:00:00Z'))).toBe(50 * 2 ** 29)
    expect(warmupCap(null, new Date())).toBeNull()
    // The clock of another process may be behind the one that started the warmup.
    expect(warmupCap(warmup, new Date('2026-03-04T00:00:00Z'))).toBe(50)
  })

  test('X-316 a send is limited by the warmup window of its domain', async () => {
    const id = await verified('warming.test')
    await domains.startWarmup(id, { days: 2 })
    const { warmup } = await senderOf('warming.test')
    expect(warmup).toEqual({ days: 2, startedAt: expect.any(Date) })
    const at = t.service.clock.now()
    const cap = warmupCap(warmup, at) as number
    const spend = (recipients: number) =>
      t.service.modules.usage.reserve({
        orgId: acme.org.id,
        tenantId: null,
        environment: 'live',
        keyId: null,
        channel: 'email',
        units: recipients,
        warmup: { domainId: id, recipients, cap },
      })
    await spend(cap)
    await expect(spend(1)).rejects.toMatchObject({ code: 'WARMUP_LIMIT_EXCEEDED' })
    expect(warmupCap(warmup, new Date(at.getTime() + 2 * 86_400_000))).toBeNull()
    await domains.endWarmup(id)
    expect((await senderOf('warming.test')).warmup).toBeNull()
  })
})

describe('the cache', () => {
  /** The number of queries that run during the work. */
  const countQueries = async (work: () => Promise<unknown>): Promise<number> => {
    const { db } = t.service
    const rows = db.rows
    let queries = 0
    db.rows = ((...args: Parameters<typeof rows>) => {
      queries++
      return rows(...args)
    }) as typeof rows
    await work().finally(() => {
      db.rows = rows
    })
    return queries
  }

  test('many sends read the database once and are still checked for each caller', async () => {
    const id = await verified('hot.test')
    const sendMany = () =>
      countQueries(async () => {
        t.service.modules.senders.forgetAll()
        await resolve('hot.test')
        for (let i = 0; i < 50; i++) await resolve('hot.test', i % 2 ? { allowedDomainIds: [id] } : {})
        await isRejected('DOMAIN_NOT_ALLOWED_FOR_KEY', 'hot.test', { allowedDomainIds: [firstDomain] })
      })
    // The notification about the new domain may clear the cache once in between.
    await expect.poll(sendMany, { timeout: 10_000 }).toBe(1)
  })

  test('every change of a domain or its pool reaches the other processes', async () => {
    const other = await testService({ database: t.database })
    const there = async (name: string) => other.service.modules.senders.resolve(callerOf(), name)
    const outcome = (name: string) =>
      there(name).then(
        (sender) => (sender as DomainSender).ipPool ?? 'sends',
        (error) => error.code as string,
      )
    const becomes = (name: string, what: string) =>
      expect.poll(() => outcome(name), { timeout: 4_000, interval: 20 }).toBe(what)
    const { body: pool } = await t.ask('POST', '/api/v1/ip-pools', {
      key: acme.keys.live,
      body: { name: 'original' },
    })
    const name = 'changing.test'
    expect(await outcome(name)).toBe('SENDER_DOMAIN_NOT_VERIFIED')
    const id = await domains.added(name)
    await runDomains(t)
    await becomes(name, 'sends')
    await domains.patch(id, { ip_pool_id: pool.id })
    await becomes(name, 'original')
    await t.ask('PATCH', `/api/v1/ip-pools/${pool.id}`, { key: acme.keys.live, body: { name: 'renamed' } })
    await becomes(name, 'renamed')
    await t.ask('PATCH', `/api/v1/ip-pools/${pool.id}`, { key: acme.keys.live, body: { paused: true } })
    await becomes(name, 'IP_POOL_PAUSED')
    await domains.remove(id)
    await becomes(name, 'SENDER_DOMAIN_NOT_VERIFIED')
    const ofTest = await domains.added(name, acme.keys.test)
    await domains.verify(ofTest, acme.keys.test)
    expect(await outcome(name)).toBe('SENDER_DOMAIN_NOT_VERIFIED')
    await domains.added(name)
    await becomes(name, 'sends')
  })

  test('a check that changes nothing notifies nobody', async () => {
    const id = await verified('quiet.test')
    const notifications: string[] = []
    const client = await t.service.db.connect()
    client.on('notification', ({ payload }) => notifications.push(payload ?? ''))
    await client.query('listen callers_changed')
    await domains.verify(id)
    await client.query('select 1')
    const received = async () => (await client.query('select 1')) && notifications.length
    expect(await received()).toBe(0)
    await domains.startWarmup(id)
    await expect.poll(received).toBeGreaterThan(0)
    await client.end()
  })
})
