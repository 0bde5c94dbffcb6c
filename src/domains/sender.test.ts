import { createPrivateKey, createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DomainClient, domainClient, runDomains } from '../../test/clients/domain-client.ts'
import { keyClient } from '../../test/clients/key-client.ts'
import { startTestService, type TestService, testService } from '../../test/service/service.ts'
import type { Code } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { CreatedOrg } from '../operator/create-org.ts'
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
const judge = async (name: string, more: Partial<SendingCaller> = {}): Promise<Sender> =>
  t.service.modules.senders.judge(callerOf(more), name)
const judged = async (name: string, more: Partial<SendingCaller> = {}): Promise<DomainSender> =>
  (await judge(name, more)) as DomainSender
const refused = (code: Code, name: string, more: Partial<SendingCaller> = {}) =>
  expect(judge(name, more), `${code} ${name}`).rejects.toMatchObject({ code })

const project = async (name: string): Promise<string> =>
  (await t.ask('POST', '/api/v1/projects', { key: acme.keys.live, body: { name } })).body.id
/** Added and, being under .test, verified. */
const verified = async (name: string, more: object = {}): Promise<string> => {
  const id = await domains.added(name, acme.keys.live, more)
  await domains.verify(id)
  return id
}

describe('a verified domain', () => {
  test('S-097 gives all that a send needs, with a private key that fits the published one', async () => {
    const id = await verified('full.test', { region: 'eu-west-1', return_path: 'bounce' })
    const sender = await judged('Full.TEST')
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

  test('XD-19 bounces come back to its return host only while both records of that host are found', async () => {
    const id = await verified('bounces.test')
    const set = async (statuses: object) => {
      await t.database.sql('update domains set record_statuses = $2 where id = $1', [id, statuses])
      t.service.modules.senders.forgetAll()
      return (await judged('bounces.test')).returnPath
    }
    expect(await set({ RETURN_PATH: 'found', SPF: 'found' })).toBe('send.bounces.test')
    expect(await set({ RETURN_PATH: 'found', SPF: 'mismatch' })).toBeNull()
    expect(await set({ RETURN_PATH: 'pending', SPF: 'found' })).toBeNull()
    expect(await set({})).toBeNull()
  })

  test('the domain of a founded org has a key too', async () => {
    expect((await judged('example.test')).dkim).toMatchObject({ domain: 'example.test', selector: 'svc1' })
  })

  test('a row without a key is sent from unsigned', async () => {
    const id = await verified('unsigned.test')
    await t.database.sql('update domains set dkim_private_key = null where id = $1', [id])
    await expect.poll(async () => (await judged('unsigned.test')).dkim).toBeNull()
  })
})

describe('the order of the refusals', () => {
  test('X-192 S-097 an unknown, a pending and an unverified domain, and one above a verified one, are not verified', async () => {
    await verified('parent.test')
    await domains.added('pending.example')
    for (const name of ['nowhere.example', 'pending.example', 'mail.parent.test', 'test', '', 'a b', '%00']) {
      await refused('SENDER_DOMAIN_NOT_VERIFIED', name)
    }
    const other = await t.org({ name: 'Other' })
    await refused('SENDER_DOMAIN_NOT_VERIFIED', 'parent.test', { orgId: other.org.id })
  })

  test('X-010 X-186 the restrictions of the key come first, whatever else is wrong', async () => {
    const inProject = await project('Restricted')
    const id = await verified('listed.test')
    const pending = await domains.added('listed-pending.example')
    await refused('DOMAIN_NOT_ALLOWED_FOR_KEY', 'example.test', { allowedDomainIds: [id] })
    await refused('DOMAIN_NOT_ALLOWED_FOR_KEY', 'nowhere.example', { allowedDomainIds: [id] })
    await refused('DOMAIN_NOT_ALLOWED_FOR_KEY', 'listed.test', { allowedDomainIds: [] })
    await refused('DOMAIN_NOT_ALLOWED_FOR_KEY', 'listed.test', { projectId: inProject })
    await refused('DOMAIN_NOT_ALLOWED_FOR_KEY', 'listed.test', {
      projectId: inProject,
      allowedDomainIds: [id],
    })
    await refused('SENDER_DOMAIN_NOT_VERIFIED', 'listed-pending.example', { allowedDomainIds: [pending] })
    expect((await judged('listed.test', { allowedDomainIds: [id, pending] })).domainId).toBe(id)
    expect((await judged('listed.test', { projectId: defaultProject })).domainId).toBe(id)
  })

  test("X-185 XD-09 another tenant's domain is told apart, and the org's own is everybody's in it", async () => {
    const [own, sibling] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
    const theirs = await verified('theirs.test', { tenant_id: sibling })
    const pending = await domains.added('theirs-pending.example', acme.keys.live, { tenant_id: sibling })
    await refused('DOMAIN_TENANT_MISMATCH', 'theirs.test', { tenantId: own })
    // Whose it is comes before whether it is proven, and the key before both.
    await refused('DOMAIN_TENANT_MISMATCH', 'theirs-pending.example', { tenantId: own })
    await refused('DOMAIN_NOT_ALLOWED_FOR_KEY', 'theirs.test', { tenantId: own, allowedDomainIds: [pending] })
    await refused('DOMAIN_TENANT_MISMATCH', 'theirs.test', { tenantId: own, allowedDomainIds: [theirs] })
    expect((await judged('theirs.test', { tenantId: sibling })).tenantId).toBe(sibling)
    expect((await judged('theirs.test')).domainId).toBe(theirs)
    expect((await judged('example.test', { tenantId: own })).domainId).toBe(firstDomain)
  })

  test('X-317 X-264 a paused pool refuses last; once it runs again the send passes', async () => {
    const pool = await t.ask('POST', '/api/v1/ip-pools', { key: acme.keys.live, body: { name: 'main' } })
    const poolId = pool.body.id as string
    const pause = (paused: boolean) =>
      t.ask('PATCH', `/api/v1/ip-pools/${poolId}`, { key: acme.keys.live, body: { paused } })
    const id = await verified('pooled.test')
    const waiting = await domains.added('pooled-pending.example')
    for (const one of [id, waiting]) await domains.patch(one, { ip_pool_id: poolId })
    expect((await judged('pooled.test')).ipPool).toBe('main')
    await pause(true)
    await refused('IP_POOL_PAUSED', 'pooled.test')
    await refused('SENDER_DOMAIN_NOT_VERIFIED', 'pooled-pending.example')
    await t.service.modules.senders.judgeTest(callerOf({ environment: 'test' }), 'pooled.test')
    await pause(false)
    expect((await judged('pooled.test')).ipPool).toBe('main')
    await domains.patch(id, { ip_pool_id: null })
    expect((await judged('pooled.test')).ipPool).toBeNull()
  })
})

describe('what a test key added', () => {
  test('X-052 is no sender of live mail, in whatever order the refusals come, nor stands before one that is', async () => {
    const [own, sibling] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
    const inProject = await project('Of both kinds')
    const ofTest = async (name: string, more: object = {}) => {
      const id = await domains.added(name, acme.keys.test, more)
      expect((await domains.verify(id, acme.keys.test)).body.status).toBe('verified')
      return id
    }
    const id = await ofTest('of-test.test', { tenant_id: sibling })
    await refused('SENDER_DOMAIN_NOT_VERIFIED', 'of-test.test')
    await refused('SENDER_DOMAIN_NOT_VERIFIED', 'of-test.test', { tenantId: own })
    await refused('DOMAIN_NOT_ALLOWED_FOR_KEY', 'of-test.test', { allowedDomainIds: [id] })
    await refused('DOMAIN_NOT_ALLOWED_FOR_KEY', 'of-test.test', { projectId: defaultProject })
    const tester = callerOf({ environment: 'test', allowedDomainIds: [id], projectId: defaultProject })
    await t.service.modules.senders.judgeTest(tester, 'of-test.test')
    // In the default project it would be the nearer one.
    await ofTest('of-both.test')
    const ofLive = await verified('of-both.test', { project_id: inProject })
    expect((await judged('of-both.test')).domainId).toBe(ofLive)
  })
})

describe('one name in several projects', () => {
  test("XD-18 the caller's tenant and project come first, then the default project, then the oldest", async () => {
    const [one, two] = [await project('One'), await project('Two')]
    const tenantId = await t.tenant(acme.org.id)
    const inOne = await verified('many.test', { project_id: one })
    const inTwo = await verified('many.test', { project_id: two, tenant_id: tenantId })
    const idOf = async (more: Partial<SendingCaller> = {}) => (await judged('many.test', more)).domainId
    expect(await idOf()).toBe(inOne)
    const inDefault = await verified('many.test')
    expect(await idOf()).toBe(inDefault)
    expect(await idOf({ projectId: one })).toBe(inOne)
    expect(await idOf({ projectId: two })).toBe(inTwo)
    expect(await idOf({ tenantId })).toBe(inTwo)
    expect(await idOf({ allowedDomainIds: [inOne, inTwo] })).toBe(inOne)
    expect(await idOf({ tenantId: await t.tenant(acme.org.id) })).toBe(inDefault)
    expect((await judged('many.test', { projectId: one })).dkim?.selector).toBe('svc1')
    expect((await judged('many.test')).dkim?.selector).toBe('svc3')
  })

  test('XD-19 one that is verified serves where the nearest is not', async () => {
    const inProject = await project('Proven')
    const proven = await verified('half.test', { project_id: inProject })
    await domains.added('half.test')
    expect((await judged('half.test')).domainId).toBe(proven)
    await refused('SENDER_DOMAIN_NOT_VERIFIED', 'half.test', { projectId: defaultProject })
  })
})

describe('the sandbox sender', () => {
  test('S-101 is verified for its own org and for nobody else', async () => {
    const other = await t.org({ name: 'Sandboxed elsewhere' })
    const own = `${acme.org.slug}.sandbox.tidings.test`
    expect(await judge(own)).toEqual({ kind: 'sandbox', name: own })
    expect(await judge(own.toUpperCase())).toEqual({ kind: 'sandbox', name: own })
    expect(await judge(own, { tenantId: await t.tenant(acme.org.id) })).toEqual({
      kind: 'sandbox',
      name: own,
    })
    const theirs = `${other.org.slug}.sandbox.tidings.test`
    for (const name of [theirs, 'sandbox.tidings.test', `a.${own}`, 'nobody.sandbox.tidings.test', 'tidings.test']) {
      await refused('SENDER_DOMAIN_NOT_VERIFIED', name)
    }
    await refused('SENDER_DOMAIN_NOT_VERIFIED', own, { orgId: other.org.id })
  })

  test('X-010 XD-18 a key that is held to some domains, or to a project, is not let through it', async () => {
    const own = `${acme.org.slug}.sandbox.tidings.test`
    await refused('DOMAIN_NOT_ALLOWED_FOR_KEY', own, { allowedDomainIds: [firstDomain] })
    await refused('DOMAIN_NOT_ALLOWED_FOR_KEY', own, { projectId: defaultProject })
  })
})

describe('test sends', () => {
  test('X-192 X-010 need no proof and no tenant, but are held to the domains of the key', async () => {
    const { judgeTest } = t.service.modules.senders
    const tester = (more: Partial<SendingCaller> = {}) => callerOf({ environment: 'test', ...more })
    for (const name of ['nowhere.example', 'example.test', 'a b']) {
      await expect(judgeTest(tester(), name)).resolves.toBeUndefined()
    }
    const pending = await domains.added('simulated.example')
    await judgeTest(tester({ allowedDomainIds: [pending] }), 'Simulated.example')
    await judgeTest(tester({ projectId: defaultProject }), 'simulated.example')
    for (const [name, more] of [
      ['example.test', { allowedDomainIds: [pending] }],
      ['nowhere.example', { allowedDomainIds: [pending] }],
      ['simulated.example', { projectId: newId('project') }],
      [`${acme.org.slug}.sandbox.tidings.test`, { allowedDomainIds: [pending] }],
    ] as const) {
      await expect(judgeTest(tester(more), name)).rejects.toMatchObject({
        code: 'DOMAIN_NOT_ALLOWED_FOR_KEY',
      })
    }
  })
})

describe('warmup', () => {
  test('X-315 A-301 AD-117 the cap is 50 times 2 to the power of the UTC day, and none after the window', () => {
    const warmup = { startedAt: new Date('2026-03-05T23:59:59.999Z'), days: 3 }
    const caps = ['05T23:59:59.999', '06T00:00:00.000', '07T12:00:00.000', '07T23:59:59.999', '08T00:00:00.000']
    expect(caps.map((at) => warmupCap(warmup, new Date(`2026-03-${at}Z`)))).toEqual([50, 100, 200, 200, null])
    expect(warmupCap({ ...warmup, days: 30 }, new Date('2026-04-03T00:00:00Z'))).toBe(50 * 2 ** 29)
    expect(warmupCap(null, new Date())).toBeNull()
    // A clock that lags behind the one that started it.
    expect(warmupCap(warmup, new Date('2026-03-04T00:00:00Z'))).toBe(50)
  })

  test('X-316 what a send may spend follows the window of its domain', async () => {
    const id = await verified('warming.test')
    await domains.startWarmup(id, { days: 2 })
    const { warmup } = await judged('warming.test')
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
    expect((await judged('warming.test')).warmup).toBeNull()
  })
})

describe('copies', () => {
  /** What the database was asked for while the work ran. */
  const counting = async (work: () => Promise<unknown>): Promise<number> => {
    const { db } = t.service
    const rows = db.rows
    let asked = 0
    db.rows = ((...args: Parameters<typeof rows>) => {
      asked++
      return rows(...args)
    }) as typeof rows
    await work().finally(() => {
      db.rows = rows
    })
    return asked
  }

  test('many sends read the database once, and decide for each caller by itself', async () => {
    const id = await verified('hot.test')
    const sendMany = () =>
      counting(async () => {
        t.service.modules.senders.forgetAll()
        await judge('hot.test')
        for (let i = 0; i < 50; i++) await judge('hot.test', i % 2 ? { allowedDomainIds: [id] } : {})
        await refused('DOMAIN_NOT_ALLOWED_FOR_KEY', 'hot.test', { allowedDomainIds: [firstDomain] })
      })
    // Word of the domain's own making may come in between, once.
    await expect.poll(sendMany, { timeout: 10_000 }).toBe(1)
  })

  test('every change of a domain or its pool is heard in the other processes at once', async () => {
    const beside = await testService({ database: t.database })
    const there = async (name: string) => beside.service.modules.senders.judge(callerOf(), name)
    const outcome = (name: string) =>
      there(name).then(
        (sender) => (sender as DomainSender).ipPool ?? 'sends',
        (error) => error.code as string,
      )
    const becomes = (name: string, what: string) =>
      expect.poll(() => outcome(name), { timeout: 4_000, interval: 20 }).toBe(what)
    const { body: pool } = await t.ask('POST', '/api/v1/ip-pools', {
      key: acme.keys.live,
      body: { name: 'heard' },
    })
    const name = 'heard.test'
    expect(await outcome(name)).toBe('SENDER_DOMAIN_NOT_VERIFIED')
    const id = await domains.added(name)
    await runDomains(t)
    await becomes(name, 'sends')
    await domains.patch(id, { ip_pool_id: pool.id })
    await becomes(name, 'heard')
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

  test('a check that changes nothing is not told of', async () => {
    const id = await verified('quiet.test')
    const heard: string[] = []
    const client = await t.service.db.connect()
    client.on('notification', ({ payload }) => heard.push(payload ?? ''))
    await client.query('listen callers_changed')
    await domains.verify(id)
    await client.query('select 1')
    const changed = async () => (await client.query('select 1')) && heard.length
    expect(await changed()).toBe(0)
    await domains.startWarmup(id)
    await expect.poll(changed).toBeGreaterThan(0)
    await client.end()
  })
})
