/** Domains as identities of Amazon SES, at a loopback server with the routes of its API. */
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { domainClient, eventsOf, runDomains } from '../../../test/clients/domain-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startDnsServer } from '../../../test/servers/dns-server.ts'
import { startSesServer } from '../../../test/servers/ses.ts'
import { startTestService, testService } from '../../../test/service/service.ts'

vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE')
vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
const ses = await startSesServer()
const dns = await startDnsServer()
const env = { EMAIL_PROVIDER: 'ses', SES_ENDPOINT: ses.url, DNS_SERVERS: dns.address, SES_CONFIGURATION_SET: 'events' }
const t = await startTestService({ env })
afterAll(async () => {
  await t.stop()
  await dns.close()
  await ses.close()
})
afterEach(() => {
  ses.faults.length = 0
  ses.requests.length = 0
})

const acme = await t.org()
const domains = domainClient(t, acme)
const leavesNoTrace = await watchTables(t.database)
let count = 0
const newName = () => `shop${++count}.example.com`

const publish = async (id: string, client = domains) => {
  const [dkim] = (await client.get(id)).body.records
  dns.zones.set(dkim.name, { TXT: [dkim.value] })
}
const identityOf = (name: string, region = 'us-east-1') => ses.identities.get(`${region} ${name}`)
const originOf = async (id: string) =>
  (await t.database.sql<{ identity: string }>('select identity from domains where id = $1', [id]))[0]?.identity
const statusOf = async (id: string, client = domains) => {
  const { status, dkim_status } = (await client.get(id)).body
  return [status, dkim_status]
}
const verified = async (name: string) => {
  const id = await domains.added(name)
  await publish(id)
  Object.assign(identityOf(name) as object, { status: 'SUCCESS' })
  expect((await domains.verify(id)).body.status).toBe('verified')
  return id
}

describe('adding a domain', () => {
  test('creates an identity in its region that signs with its key and selector', async () => {
    const name = newName()
    const { body } = await domains.create({ name, region: 'eu-west-1', return_path: 'bounce' })
    const { privateKey, ...identity } = identityOf(name, 'eu-west-1') ?? { privateKey: '' }
    expect(identity).toEqual({
      selector: 'svc1',
      status: 'PENDING',
      configurationSet: 'events',
      mailFrom: { MailFromDomain: `bounce.${name}`, BehaviorOnMxFailure: 'USE_DEFAULT_VALUE' },
      forwarding: false,
    })
    const key = createPrivateKey({ key: Buffer.from(privateKey, 'base64'), format: 'der', type: 'pkcs1' })
    const published = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64')
    expect(body.records[0].value).toBe(`v=DKIM1; k=rsa; p=${published}`)
    expect(body.records[1]).toMatchObject({ name: `bounce.${name}`, value: 'feedback-smtp.eu-west-1.amazonses.com' })
    expect(ses.requests).toEqual([
      'POST /v2/email/identities eu-west-1',
      `PUT /v2/email/identities/${name}/mail-from eu-west-1`,
      `PUT /v2/email/identities/${name}/feedback eu-west-1`,
    ])
  })

  test('with a test key contacts no provider', async () => {
    await domains.added(newName(), acme.keys.test)
    expect(ses.requests).toEqual([])
  })

  test('that is refused before contacts no provider', async () => {
    const name = newName()
    await domains.added(name)
    ses.requests.length = 0
    expectRefusal(await domains.create({ name }), 'DOMAIN_ALREADY_ADDED')
    expect(ses.requests).toEqual([])
  })

  test.for([
    [{ status: 503, type: 'InternalFailure' }, 'PROVIDER_UNAVAILABLE'],
    [{ status: 429, type: 'TooManyRequestsException' }, 'PROVIDER_UNAVAILABLE'],
    ['lost', 'PROVIDER_UNAVAILABLE'],
    [{ status: 403, type: 'AccessDeniedException', message: 'arn:aws:iam::1:user/a' }, 'PROVIDER_UNAVAILABLE'],
    [{ status: 400, type: 'BadRequestException', message: 'Invalid domain name.' }, 'PROVIDER_ERROR'],
  ] as const)('R-09 X-292 X-294 is 502 and leaves nothing behind when SES fails with %j', async ([fault, code]) => {
    const name = newName()
    ses.faults.push({ on: /^POST/, fault })
    const reply = await leavesNoTrace(() => domains.create({ name }))
    const own = { PROVIDER_ERROR: 'Invalid domain name.' } as Record<string, string>
    const message =
      own[code] ??
      (fault !== 'lost' && fault.status === 403
        ? 'Amazon SES did not accept the credentials of this service.'
        : 'Amazon SES could not be reached or is overloaded. Retry later.')
    expectRefusal(reply, code, { message })
    expect(ses.identities.has(`us-east-1 ${name}`)).toBe(false)
  })

  test('R-09 removes the identity again when SES does not take its settings', async () => {
    const name = newName()
    ses.faults.push({ on: /mail-from/, fault: { status: 400, type: 'BadRequestException', message: 'No MX.' } })
    expectRefusal(await leavesNoTrace(() => domains.create({ name })), 'PROVIDER_ERROR', { message: 'No MX.' })
    expect(identityOf(name)).toBeUndefined()
  })
})

describe('a domain that cannot be stored', () => {
  test('leaves no identity behind when another request adds the name first', async () => {
    const name = newName()
    ses.whileCreating = () =>
      t.database.sql(
        `insert into domains (org_id, id, project_id, name, status, dkim_status, region, created_environment,
           dkim_selector, created_at, updated_at)
         select org_id, 'dom_' || md5(random()::text), project_id, $2, 'pending', 'PENDING', region, 'live', 'svc7',
           created_at, updated_at
         from domains where org_id = $1 and name = 'example.test'`,
        [acme.org.id, name],
      )
    expectRefusal(await domains.create({ name }), 'DOMAIN_ALREADY_ADDED')
    expect([identityOf(name), ses.requests.at(-1)]).toEqual([
      undefined,
      `DELETE /v2/email/identities/${name} us-east-1`,
    ])
  })
})

describe('checking a domain', () => {
  test('verifies it once DNS and SES both have the key', async () => {
    const name = newName()
    const id = await domains.added(name)
    await domains.verify(id)
    expect(await statusOf(id)).toEqual(['pending', 'PENDING'])
    await publish(id)
    await domains.verify(id)
    expect(await statusOf(id)).toEqual(['pending', 'PENDING'])
    Object.assign(identityOf(name) as object, { status: 'SUCCESS' })
    await domains.verify(id)
    expect(await statusOf(id)).toEqual(['verified', 'SUCCESS'])
  })

  test('X-108 X-314 reports an identity that is gone, until the domain is added again', async () => {
    const name = newName()
    const id = await verified(name)
    ses.identities.delete(`us-east-1 ${name}`)
    await domains.verify(id)
    expect(await statusOf(id)).toEqual(['unverified', 'IDENTITY_NOT_FOUND'])
    expect((await eventsOf(t.database, id)).at(-1)).toMatchObject({
      event: 'domain.unverified',
      data: { dkim_status: 'IDENTITY_NOT_FOUND' },
    })
    await domains.verify(id)
    expect(await statusOf(id)).toEqual(['unverified', 'IDENTITY_NOT_FOUND'])
    expect((await domains.remove(id)).status).toBe(200)
    await domains.added(name)
    expect(identityOf(name)?.status).toBe('PENDING')
  })

  test.for([{ status: 503, type: 'InternalFailure' }, 'lost', 'empty'] as const)(
    'leaves a verified domain verified when SES fails with %j, and does not verify a new one',
    async (fault) => {
      const old = await verified(newName())
      const name = newName()
      const id = await domains.added(name)
      await publish(id)
      Object.assign(identityOf(name) as object, { status: 'SUCCESS' })
      ses.faults.push({ on: /^GET/, fault })
      for (let check = 0; check < 4; check++) await domains.verify(old)
      await domains.verify(id)
      expect([await statusOf(old), await statusOf(id)]).toEqual([
        ['verified', 'SUCCESS'],
        ['pending', 'TEMPORARY_FAILURE'],
      ])
    },
  )

  test('relies on DNS alone when the credentials do not allow it to read identities', async () => {
    const id = await domains.added(newName())
    await publish(id)
    ses.faults.push({ on: /^GET/, fault: { status: 403, type: 'AccessDeniedException' } })
    await domains.verify(id)
    expect(await statusOf(id)).toEqual(['verified', 'SUCCESS'])
  })

  test('creates the identity of a domain that was promoted from test mode', async () => {
    const name = newName()
    const id = await domains.added(name, acme.keys.test)
    await publish(id)
    await domains.verify(id)
    expect([await statusOf(id), ses.requests]).toEqual([['verified', 'SUCCESS'], []])
    expect(await domains.added(name)).toBe(id)
    expect(identityOf(name)).toBeUndefined()
    await runDomains(t)
    expect([identityOf(name)?.selector, await originOf(id)]).toEqual(['svc1', 'created'])
  })
})

describe('a name that several orgs add', () => {
  test('has one identity, which gets the key of the org that publishes its record', async () => {
    const name = newName()
    const squatter = await domains.added(name)
    const owner = domainClient(t, await t.org())
    const id = await owner.added(name)
    expect([await originOf(squatter), await originOf(id), identityOf(name)?.selector]).toEqual([
      'created',
      'adopted',
      'svc1',
    ])
    await publish(id, owner)
    await owner.verify(id)
    expect([identityOf(name)?.selector, await statusOf(id, owner)]).toEqual(['svc2', ['pending', 'PENDING']])
    Object.assign(identityOf(name) as object, { status: 'SUCCESS' })
    await owner.verify(id)
    expect(await statusOf(id, owner)).toEqual(['verified', 'SUCCESS'])
    expect(await statusOf(squatter)).toEqual(['pending', 'PENDING'])
  })

  test('keeps its identity until the last of its domains is removed', async () => {
    const name = newName()
    const first = await domains.added(name)
    const other = domainClient(t, await t.org())
    const second = await other.added(name)
    expect((await domains.remove(first)).status).toBe(200)
    expect([identityOf(name)?.selector, await originOf(second)]).toEqual(['svc1', 'created'])
    expect((await other.remove(second)).status).toBe(200)
    expect(identityOf(name)).toBeUndefined()
  })
})

describe('removing a domain', () => {
  test('removes its identity', async () => {
    const name = newName()
    const id = await domains.added(name)
    expect((await domains.remove(id)).status).toBe(200)
    expect([identityOf(name), (await domains.get(id)).status]).toEqual([undefined, 404])
  })

  test('R-09 X-292 is 502 and changes nothing while SES cannot be reached', async () => {
    const name = newName()
    const id = await domains.added(name)
    ses.faults.push({ on: /^DELETE/, fault: 'lost' })
    const message = 'Amazon SES could not be reached or is overloaded. Retry later.'
    expectRefusal(await leavesNoTrace(() => domains.remove(id)), 'PROVIDER_UNAVAILABLE', { message })
    ses.faults.length = 0
    expect((await domains.remove(id)).status).toBe(200)
  })

  test('leaves an identity that the operator created', async () => {
    const name = newName()
    const manual = { selector: 'easy', privateKey: '', status: 'SUCCESS', configurationSet: undefined }
    ses.identities.set(`us-east-1 ${name}`, manual)
    const id = await domains.added(name)
    await publish(id)
    await domains.verify(id)
    expect(await statusOf(id)).toEqual(['verified', 'SUCCESS'])
    await domains.remove(id)
    expect(identityOf(name)).toEqual(manual)
  })
})

test('The endpoint can be set with the variables of the AWS SDK', async () => {
  vi.stubEnv('AWS_ENDPOINT_URL_SESV2', ses.url)
  const other = await testService({ env: { ...env, SES_ENDPOINT: '' } })
  const name = newName()
  await domainClient(other, await other.org()).added(name)
  expect(identityOf(name)?.selector).toBe('svc1')
})
