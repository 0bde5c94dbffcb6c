import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { trailOf } from '../../../test/audit/trail.ts'
import { type DomainClient, domainClient, eventsOf, report, runDomains } from '../../../test/clients/domain-client.ts'
import { advance, keyIdOf } from '../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startDnsServer } from '../../../test/servers/dns-server.ts'
import { type Reply, startTestService, type TestService, testService } from '../../../test/service/service.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import { delayAfterCheck, statusAfter } from './check.ts'
import type { DkimStatus, DomainStatus } from './shapes.ts'

const dns = await startDnsServer()
const t = await startTestService({ env: { DNS_SERVERS: dns.address } })
afterAll(async () => {
  await t.stop()
  await dns.close()
})

const acme = await t.org()
const domains = domainClient(t, acme)

const minutes = 60
const hours = 60 * minutes

const publish = async (id: string, { get }: DomainClient = domains): Promise<void> => {
  const [dkim] = (await get(id)).body.records
  dns.zones.set(dkim.name, { TXT: [dkim.value] })
}
const withdraw = async (id: string): Promise<void> => {
  dns.zones.delete((await domains.get(id)).body.records[0].name)
}
const eventNames = async (id: string) => (await eventsOf(t.database, id)).map(({ event }) => event)
const trailFor = async (id: string, orgId = acme.org.id) =>
  (await trailOf(t.database, orgId)).filter((entry) => entry.resource_id === id)
/** Seconds between the last check and the next one. */
const delayOf = async (id: string): Promise<number | null> => {
  const [row] = await t.database.sql<{ delay: number | null }>(
    'select extract(epoch from next_check_at - last_checked_at)::float8 as delay from domains where id = $1',
    [id],
  )
  return row?.delay ?? null
}
const statusesOf = async (id: string) => {
  const { status, dkim_status, records } = (await domains.get(id)).body
  return [status, dkim_status, records[0].status]
}

describe('the status and the delay after a check', () => {
  test.for<[before: DomainStatus, dkim: DkimStatus, failures: number, after: DomainStatus]>([
    ['pending', 'SUCCESS', 0, 'verified'],
    ['unverified', 'SUCCESS', 0, 'verified'],
    ['verified', 'SUCCESS', 0, 'verified'],
    ['pending', 'PENDING', 0, 'pending'],
    ['pending', 'FAILED', 0, 'pending'],
    ['pending', 'TEMPORARY_FAILURE', 9, 'pending'],
    ['unverified', 'FAILED', 0, 'unverified'],
    ['verified', 'PENDING', 0, 'unverified'],
    ['verified', 'FAILED', 0, 'unverified'],
    ['verified', 'TEMPORARY_FAILURE', 1, 'verified'],
    ['verified', 'TEMPORARY_FAILURE', 2, 'verified'],
    ['verified', 'TEMPORARY_FAILURE', 3, 'unverified'],
    ['verified', 'IDENTITY_NOT_FOUND', 0, 'unverified'],
    ['pending', 'IDENTITY_NOT_FOUND', 0, 'unverified'],
  ])(
    'XD-19 a %s domain that checks as %s (temporary failures in a row: %i) becomes %s',
    ([before, dkim, failures, after]) => {
      expect(statusAfter(before, dkim, failures)).toBe(after)
    },
  )

  test('XD-19 verified domains are checked every 6 hours, others every 5 minutes for 3 days and then hourly', () => {
    const hour = 3_600_000
    expect(delayAfterCheck('verified', 0)).toBe(6 * hour)
    for (const status of ['pending', 'unverified'] as const) {
      expect(delayAfterCheck(status, 72 * hour - 1)).toBe(hour / 12)
      expect(delayAfterCheck(status, 72 * hour)).toBe(hour)
    }
  })
})

describe('checks in DNS', () => {
  describe('a domain that is verified, unverified and verified again', () => {
    const name = 'flips.example'
    let id: string
    let tenantId: string
    let unpublished: Reply
    let verified: Reply['body']
    let stillVerified: Reply['body']
    let unverified: Reply['body']
    const statuses: unknown[] = []
    const eventsByStep: unknown[][] = []

    beforeAll(async () => {
      tenantId = await t.tenant(acme.org.id)
      id = await domains.added(name, acme.keys.live, { tenant_id: tenantId })
      const step = async (): Promise<Reply> => {
        const reply = await domains.verify(id)
        statuses.push(await statusesOf(id))
        eventsByStep.push(await eventsOf(t.database, id))
        return reply
      }
      unpublished = await step()
      await publish(id)
      verified = (await step()).body
      stillVerified = (await step()).body
      dns.zones.set(verified.records[0].name, { TXT: ['v=DKIM1; k=rsa; p=AAAA'] })
      unverified = (await step()).body
      await step()
      await publish(id)
      await step()
    })

    test('X-106 changes its status with the published record and keeps the time of verification', () => {
      expect(unpublished.status).toBe(200)
      expect(unpublished.body.last_checked_at).toEqual(expect.any(String))
      expect(statuses).toEqual([
        ['pending', 'PENDING', 'pending'],
        ['verified', 'SUCCESS', 'found'],
        ['verified', 'SUCCESS', 'found'],
        ['unverified', 'FAILED', 'mismatch'],
        ['unverified', 'FAILED', 'mismatch'],
        ['verified', 'SUCCESS', 'found'],
      ])
      expect(verified.verified_at).toBe(verified.last_checked_at)
      expect(stillVerified.verified_at).toBe(verified.verified_at)
      expect(unverified.verified_at).toBeNull()
    })

    test('X-106 X-107 X-064 appends one event for each change and none for a check that changes nothing', () => {
      expect(eventsByStep.map((events) => events.length)).toEqual([0, 1, 1, 2, 2, 3])
      const about = { id, domain: name, region: 'us-east-1', project_id: verified.project_id }
      const event = { tenant_id: tenantId, environment: null }
      const good = { ...about, status: 'verified', dkim_status: 'SUCCESS' }
      expect(eventsByStep.at(-1)).toEqual([
        { ...event, event: 'domain.verified', data: { ...good, verified_at: verified.verified_at } },
        {
          ...event,
          event: 'domain.unverified',
          data: { ...about, status: 'unverified', dkim_status: 'FAILED', unverified_at: unverified.last_checked_at },
        },
        { ...event, event: 'domain.verified', data: { ...good, verified_at: expect.any(String) } },
      ])
    })

    test('A-144 A-145 writes one audit entry for each change', async () => {
      const via = { name, via: 'api_key', api_key_id: await keyIdOf(t, acme.keys.live) }
      const entry = { resource_type: 'domain', resource_id: id, actor_user_id: null }
      const changes = [
        ['domain.verified', 'SUCCESS'],
        ['domain.unverified', 'FAILED'],
        ['domain.verified', 'SUCCESS'],
      ] as const
      expect((await trailFor(id)).slice(1)).toEqual(
        changes.map(([action, dkim_status]) =>
          expect.objectContaining({ ...entry, action, metadata: { ...via, dkim_status } }),
        ),
      )
    })
  })

  test('XD-19 only the DKIM record decides verification; the other records are only reported', async () => {
    const id = await domains.added('advice.example')
    const [, mx, spf] = (await domains.get(id)).body.records
    dns.zones.set(mx.name, { MX: [{ preference: 10, exchange: mx.value }], TXT: ['v=spf1 -all'] })
    await domains.verify(id)
    const { status, records } = (await domains.get(id)).body
    expect([status, spf.record]).toEqual(['pending', 'SPF'])
    expect(records.map((record: { status: string }) => record.status)).toEqual([
      'pending',
      'found',
      'mismatch',
      'pending',
    ])
  })

  test('XD-19 two projects that add the same name verify it separately', async () => {
    const project = await t.ask('POST', '/api/v1/projects', { key: acme.keys.live, body: { name: 'Twin' } })
    const one = await domains.added('shared.example')
    const two = await domains.added('shared.example', acme.keys.live, { project_id: project.body.id })
    await publish(one)
    for (const id of [one, two]) await domains.verify(id)
    expect([(await statusesOf(one))[0], (await statusesOf(two))[0]]).toEqual(['verified', 'pending'])
  })

  test('XD-19 a domain is unverified only after three temporary failures in a row', async () => {
    const id = await domains.added('shaky.example')
    await publish(id)
    await domains.verify(id)
    const host = (await domains.get(id)).body.records[0].name
    const fail = async () => {
      dns.zones.set(host, 'SERVFAIL')
      await domains.verify(id)
      return statusesOf(id)
    }
    expect(await fail()).toEqual(['verified', 'TEMPORARY_FAILURE', 'found'])
    expect((await fail())[0]).toBe('verified')
    await publish(id)
    await domains.verify(id)
    expect(await statusesOf(id)).toEqual(['verified', 'SUCCESS', 'found'])
    expect([(await fail())[0], (await fail())[0]]).toEqual(['verified', 'verified'])
    expect(await eventNames(id)).toEqual(['domain.verified'])
    expect(await fail()).toEqual(['unverified', 'TEMPORARY_FAILURE', 'found'])
    expect((await fail())[0]).toBe('unverified')
    expect((await eventsOf(t.database, id)).map(({ event, data }) => [event, data.dkim_status])).toEqual([
      ['domain.verified', 'SUCCESS'],
      ['domain.unverified', 'TEMPORARY_FAILURE'],
    ])
  })
})

describe('background checks', () => {
  test('XD-19 checks run every 5 minutes for 3 days, then hourly, and every 6 hours once verified', async () => {
    const id = await domains.added('waits.example')
    const checkedAt = async () => (await domains.get(id)).body.last_checked_at
    await runDomains(t)
    const first = await checkedAt()
    expect([first, await delayOf(id)]).toEqual([expect.any(String), 5 * minutes])
    await runDomains(t)
    expect(await checkedAt()).toBe(first)
    await advance(t, 5 * minutes)
    await runDomains(t)
    expect((await checkedAt()) > first).toBe(true)
    await advance(t, 72 * hours)
    await runDomains(t)
    expect([await statusesOf(id), await delayOf(id)]).toEqual([['pending', 'PENDING', 'pending'], 1 * hours])
    await publish(id)
    await advance(t, 1 * hours)
    expect(await runDomains(t)).toMatchObject({ domains_verified: 1 })
    expect([(await statusesOf(id))[0], await delayOf(id)]).toEqual(['verified', 6 * hours])
    await withdraw(id)
    await advance(t, 6 * hours - 1)
    await runDomains(t)
    expect((await statusesOf(id))[0]).toBe('verified')
    await advance(t, 1)
    expect(await runDomains(t)).toMatchObject({ domains_unverified: 1 })
    // The three days start again, because the domain was verified in between.
    expect([await statusesOf(id), await delayOf(id)]).toEqual([['unverified', 'PENDING', 'pending'], 5 * minutes])
    expect((await trailFor(id)).map(({ action, metadata }) => [action, metadata?.via])).toEqual([
      ['domain.added', 'api_key'],
      ['domain.verified', 'system'],
      ['domain.unverified', 'system'],
    ])
  })

  test('X-106 concurrent checks in several processes append one event for each domain', async () => {
    const own = await testService()
    const other = await testService({ database: own.database })
    const org = await own.org()
    const client = domainClient(own, org)
    const ids: string[] = []
    for (let i = 0; i < 30; i++) ids.push(await client.added(`many-${i}.test`))
    const counts = await Promise.all([runDomains(own), runDomains(other), runDomains(own), runDomains(other)])
    const sum = (name: string) => counts.reduce((total, one) => total + (one[name] as number), 0)
    expect([sum('domains_checked'), sum('domains_verified')]).toEqual([30, 30])
    const events = await own.database.sql("select 1 from events where event = 'domain.verified'")
    const entries = await own.database.sql("select 1 from audit_entries where action = 'domain.verified'")
    expect([events.length, entries.length]).toEqual([30, 30])
  })

  test('X-106 concurrent on-demand checks of one domain in several processes append one event', async () => {
    const own = await testService()
    const other = await testService({ database: own.database })
    const org = await own.org()
    const id = await domainClient(own, org).added('raced.test')
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, i) => domainClient(i % 2 ? own : other, org).verify(id)),
    )
    expect(replies.map(({ status }) => status)).toEqual(new Array(8).fill(200))
    await runDomains(own)
    expect((await eventsOf(own.database, id)).map(({ event }) => event)).toEqual(['domain.verified'])
    expect((await domainClient(own, org).get(id)).body.status).toBe('verified')
  })

  test('X-106 a check records nothing when a later check finished first or the domain was deleted', async () => {
    const id = await domains.added('overtaken.example')
    const host = (await domains.get(id)).body.records[0].name
    const queries = () => dns.asked.filter((query) => query.toLowerCase() === `txt ${host}`).length
    const { promise: after, resolve: answer } = Promise.withResolvers<void>()
    dns.zones.set(host, { TXT: ['v=DKIM1; k=rsa; p=AAAA'], after })
    const slow = domains.verify(id)
    await expect.poll(queries, { interval: 5 }).toBeGreaterThan(0)
    await publish(id)
    await domains.verify(id)
    answer()
    expect((await slow).body.status).toBe('verified')
    expect(await statusesOf(id)).toEqual(['verified', 'SUCCESS', 'found'])
    expect(await eventNames(id)).toEqual(['domain.verified'])

    dns.zones.set(host, 'silent')
    const before = queries()
    const orphan = domains.verify(id)
    await expect.poll(queries).toBeGreaterThan(before)
    await domains.remove(id)
    expectRefusal(await orphan, 'NOT_FOUND')
    expect(await eventNames(id)).toEqual(['domain.verified', 'domain.removed'])
  })

  test('X-052 X-106 a check of a test-mode domain records nothing when the domain is promoted meanwhile', async () => {
    const id = await domains.added('promoted.example', acme.keys.test, { return_path: 'old' })
    const { promise: after, resolve: answer } = Promise.withResolvers<void>()
    const [dkim, , spf] = (await domains.get(id)).body.records
    dns.zones.set(dkim.name, { TXT: ['v=DKIM1; k=rsa; p=AAAA'], after })
    dns.zones.set(spf.name, { TXT: [spf.value] })
    const slow = domains.verify(id, acme.keys.test)
    const isQueried = () => dns.asked.some((query) => query.toLowerCase() === `txt ${dkim.name}`)
    await expect.poll(isQueried, { interval: 5 }).toBe(true)
    const { body: promoted } = await domains.create({ name: 'promoted.example', return_path: 'new' })
    answer()
    expect((await slow).body).toEqual(promoted)
    expect((await domains.get(id)).body).toEqual(promoted)
    await publish(id)
    await runDomains(t)
    expect(await statusesOf(id)).toEqual(['verified', 'SUCCESS', 'found'])
  })

  test('the claim of a process that stopped expires after 5 minutes', async () => {
    const id = await domains.added('lost-claim.test')
    await t.database.sql("update domains set check_claim = 'gone', next_check_at = $2 where id = $1", [
      id,
      new Date(t.service.clock.millis() + 300_000),
    ])
    await runDomains(t)
    expect((await statusesOf(id))[0]).toBe('pending')
    await advance(t, 5 * minutes)
    await runDomains(t)
    expect((await statusesOf(id))[0]).toBe('verified')
  })

  test('the worker runs the task every minute', () => {
    expect(t.service.tasks.domains?.cron).toBe('* * * * *')
  })
})

describe('the simulated provider', () => {
  test('verifies any .test domain at its next check, without DNS', async () => {
    const id = await domains.added('shop.test')
    dns.asked.length = 0
    expect((await domains.get(id)).body.status).toBe('pending')
    await runDomains(t)
    expect(await statusesOf(id)).toEqual(['verified', 'SUCCESS', 'found'])
    expect(dns.asked.filter((query) => query.includes('shop.test'))).toEqual([])
  })

  test('is used only when the local provider is configured', async () => {
    const own = await testService({
      env: { DNS_SERVERS: dns.address, EMAIL_PROVIDER: 'smtp', SMTP_URL: 'smtp://127.0.0.1:1' },
    })
    const client = domainClient(own, await own.org())
    const id = await client.added('real.test')
    await report(own, id, 'SUCCESS')
    expect((await client.verify(id)).body).toMatchObject({ status: 'pending', dkim_status: 'PENDING' })
    await publish(id, client)
    expect((await client.verify(id)).body).toMatchObject({ status: 'verified', dkim_status: 'SUCCESS' })
  })

  test.for([
    ['SUCCESS', 'verified', 'SUCCESS'],
    ['verified', 'verified', 'SUCCESS'],
    ['failed', 'unverified', 'FAILED'],
    ['unverified', 'unverified', 'FAILED'],
    ['PENDING', 'unverified', 'PENDING'],
    ['not_started', 'unverified', 'NOT_STARTED'],
    ['unreachable', 'verified', 'TEMPORARY_FAILURE'],
    ['IDENTITY_NOT_FOUND', 'unverified', 'IDENTITY_NOT_FOUND'],
  ] as const)(
    'X-107 after a report of %s the next check makes the domain %s with DKIM status %s',
    async ([reported, status, dkim_status]) => {
      const id = await domains.added(`reported-${reported.toLowerCase().replace('_', '-').replace('_', '-')}.test`)
      await runDomains(t)
      const reply = await report(t, id, reported)
      expect([reply.status, reply.body]).toEqual([200, { id, status: dkim_status }])
      expect((await domains.get(id)).body.status).toBe('verified')
      await runDomains(t)
      expect((await domains.get(id)).body).toMatchObject({ status, dkim_status })
      expect(await eventNames(id)).toEqual(
        status === 'verified' ? ['domain.verified'] : ['domain.verified', 'domain.unverified'],
      )
    },
  )

  test('reports a simulated status in every process', async () => {
    const own = await testService()
    const other = await testService({ database: own.database })
    const org: CreatedOrg = await own.org()
    const id = await domainClient(own, org).added('simulated.example')
    await report(own, id, 'SUCCESS')
    await runDomains(other as TestService)
    expect((await domainClient(other, org).get(id)).body.status).toBe('verified')
  })

  test('rejects unknown statuses and ids that are not domains', async () => {
    const id = await domains.added('registry.example')
    const quiet = await watchTables(t.database)
    const bodies: [body: unknown, status: number][] = [
      [{ id, status: 'sideways' }, 422],
      [{ id, status: '__proto__' }, 422],
      [{ id }, 422],
      [{ id, status: 'SUCCESS', more: 1 }, 422],
      [{ id: 'dom_01m7ekszz4e8brbwp01pb7h1dp', status: 'SUCCESS' }, 404],
      [{ id: acme.org.id, status: 'SUCCESS' }, 404],
    ]
    for (const [body, status] of bodies) {
      expect((await quiet(() => t.ask('POST', '/api/dev/registry', { body }))).status).toBe(status)
    }
  })
})

describe('the status IDENTITY_NOT_FOUND', () => {
  test('X-314 X-108 stays until the domain is added again, whatever later checks report', async () => {
    const id = await domains.added('vanished.test')
    await runDomains(t)
    await report(t, id, 'IDENTITY_NOT_FOUND')
    await runDomains(t)
    await report(t, id, 'SUCCESS')
    for (let i = 0; i < 3; i++) {
      await advance(t, 24 * hours)
      await runDomains(t)
      const { status, dkim_status, last_checked_at } = (await domains.verify(id)).body
      expect([status, dkim_status]).toEqual(['unverified', 'IDENTITY_NOT_FOUND'])
      expect(Date.parse(last_checked_at)).toBeGreaterThan(t.service.clock.millis() - 60_000)
    }
    expect((await eventsOf(t.database, id)).map(({ event, data }) => [event, data.dkim_status])).toEqual([
      ['domain.verified', 'SUCCESS'],
      ['domain.unverified', 'IDENTITY_NOT_FOUND'],
    ])
    await domains.remove(id)
    const fresh = await domains.added('vanished.test')
    await runDomains(t)
    expect((await domains.get(fresh)).body).toMatchObject({ status: 'verified', dkim_status: 'SUCCESS' })
  })
})

test('a domain without a DKIM key is not looked up in DNS', async () => {
  const id = await domains.added('keyless.example')
  await t.database.sql('update domains set dkim_public_key = null, dkim_private_key = null where id = $1', [id])
  dns.asked.length = 0
  await domains.verify(id)
  expect((await domains.get(id)).body).toMatchObject({ status: 'pending', dkim_status: 'NOT_STARTED' })
  expect(dns.asked.filter((query) => query.includes('keyless'))).toEqual([])
})
