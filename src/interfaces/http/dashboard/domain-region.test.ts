/** Moves a domain to another region while its provider, Amazon SES on loopback, has an identity for it. */
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { domainClient } from '../../../../test/clients/domain-client.ts'
import { person } from '../../../../test/clients/team-client.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { startSesServer } from '../../../../test/servers/ses.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { regions } from '../../../senders/domains/region.ts'

vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE')
vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
const ses = await startSesServer()
const t = await startTestService({ env: { EMAIL_PROVIDER: 'ses', SES_ENDPOINT: ses.url } })
afterAll(async () => {
  await t.stop()
  await ses.close()
})
afterEach(() => {
  ses.faults.length = 0
  ses.whileCreating = undefined
})
const leavesNoTrace = await watchTables(t.database)

const acme = await t.org()
const orgId = acme.org.id
const developer = await person(t, { orgId, role: 'developer' })
const domains = domainClient(t, acme)

let count = 0
/** A domain that the provider knows in us-east-1. */
const known = async (client = domains, name = `shop${++count}.example.com`) => {
  const id = await client.added(name)
  ses.requests.length = 0
  return { id, name }
}
const move = (id: string, region = 'eu-west-1') =>
  developer.ask('PATCH', `/api/internal/domains/${id}/region`, { region })
const identityOf = (name: string, region: string) => ses.identities.get(`${region} ${name}`)
const originOf = async (id: string) =>
  (await t.database.sql<{ identity: string }>('select identity from domains where id = $1', [id]))[0]?.identity
const unreachable = 'Amazon SES could not be reached or is overloaded. Retry later.'

test('A-298 creates the identity in the new region with the same key, and then removes the former one', async () => {
  const { id, name } = await known()
  const before = identityOf(name, 'us-east-1')
  const { result, trail } = await withTrail(t.database, orgId, () => move(id))
  expect([result.status, result.body.region, result.body.status]).toEqual([200, 'eu-west-1', 'pending'])
  expect(trail.map(({ action, metadata }) => [action, metadata])).toEqual([
    ['domain.region_updated', { old: 'us-east-1', new: 'eu-west-1' }],
  ])
  expect([identityOf(name, 'us-east-1'), identityOf(name, 'eu-west-1')]).toEqual([undefined, before])
  expect([ses.requests[0], ses.requests.at(-1)]).toEqual([
    'POST /v2/email/identities eu-west-1',
    `DELETE /v2/email/identities/${name} us-east-1`,
  ])
  expect(await originOf(id)).toBe('created')
})

const documented = readFileSync('docs/domains.md', 'utf8')
const documentedRegions = [...(/^\| `region` \|.*$/m.exec(documented)?.[0] ?? '').matchAll(/`([a-z]+-[a-z]+-\d)`/g)]
const everyRegion = [...new Set(documentedRegions.map(([, region]) => region as string))]

test('the documented regions are those that a domain can have', () => {
  expect(everyRegion.toSorted()).toEqual([...regions].toSorted())
})

/** The requests of a mail from the domain, which the provider refuses. */
const sentIn = async (id: string, name: string): Promise<string[]> => {
  await t.database.sql(`update domains set status = 'verified' where id = $1`, [id])
  ses.faults.push({ on: /outbound-emails/, fault: { status: 400, type: 'MessageRejected' } })
  ses.requests.length = 0
  const body = { from: `a@${name}`, to: ['bob@reader.test'], subject: 'Hi', text: 'Hi' }
  const reply = await t.ask('POST', '/api/v1/emails', { key: acme.keys.live, body })
  expect([reply.status, reply.body.error.code]).toEqual([500, 'INTERNAL_ERROR'])
  ses.faults.length = 0
  return [...ses.requests]
}

test.each(everyRegion)(
  'A-298 a domain of %s is created, moved and removed in its region, and sends there',
  async (region) => {
    const regionsAsked = () => [...new Set(ses.requests.map((line) => line.split(' ').at(-1)))]
    const name = `shop${++count}.example.com`
    ses.requests.length = 0
    const id = await domains.added(name, acme.keys.live, { region })
    expect([ses.requests[0], regionsAsked()]).toEqual([`POST /v2/email/identities ${region}`, [region]])
    const key = identityOf(name, region)?.privateKey
    expect(key).toEqual(expect.any(String))

    for (const other of everyRegion.filter((one) => one !== region)) {
      ses.requests.length = 0
      expect((await move(id, other)).body).toMatchObject({ region: other, status: 'pending' })
      expect([identityOf(name, other)?.privateKey, identityOf(name, region)]).toEqual([key, undefined])
      expect([ses.requests[0], ses.requests.at(-1)]).toEqual([
        `POST /v2/email/identities ${other}`,
        `DELETE /v2/email/identities/${name} ${region}`,
      ])
      const { records } = (await domains.get(id)).body
      expect(JSON.stringify(records)).toContain(`feedback-smtp.${other}.amazonses.com`)
      expect(JSON.stringify(records)).not.toContain(region)

      expect(await sentIn(id, name)).toEqual([`POST /v2/email/outbound-emails ${other}`])
      expect((await move(id, region)).body.region).toBe(region)
    }

    ses.requests.length = 0
    expect((await domains.remove(id)).status).toBe(200)
    expect([regionsAsked(), identityOf(name, region)]).toEqual([[region], undefined])
  },
)

test('A-298 a region that is not documented is 422, and the provider is not asked', async () => {
  const { id } = await known()
  for (const region of ['eu-central-1', 'US-EAST-1', '', null, 'us-east-1.evil.test']) {
    const reply = await leavesNoTrace(() => developer.ask('PATCH', `/api/internal/domains/${id}/region`, { region }))
    expect([reply.status, reply.body.errors[0].path], String(region)).toEqual([422, ['region']])
  }
  expect(ses.requests).toEqual([])
})

test('A-298 the same region asks the provider nothing, and a test-mode domain never does', async () => {
  const { id } = await known()
  expect((await leavesNoTrace(() => move(id, 'us-east-1'))).status).toBe(200)
  const inTest = await domains.added(`shop${++count}.example.com`, acme.keys.test)
  expect((await move(inTest)).body.region).toBe('eu-west-1')
  expect(ses.requests).toEqual([])
})

test.for([
  [{ status: 503, type: 'InternalFailure' }, 'PROVIDER_UNAVAILABLE', unreachable],
  ['lost', 'PROVIDER_UNAVAILABLE', unreachable],
  [{ status: 400, type: 'BadRequestException', message: 'No such region.' }, 'PROVIDER_ERROR', 'No such region.'],
] as const)('A-298 R-09 is 502 and moves nothing when SES fails with %j', async ([fault, code, error]) => {
  const { id, name } = await known()
  const before = identityOf(name, 'us-east-1')
  ses.faults.push({ on: /^POST/, fault })
  const reply = await leavesNoTrace(() => move(id))
  expect([reply.status, reply.body]).toEqual([502, { error, code }])
  expect([identityOf(name, 'us-east-1'), identityOf(name, 'eu-west-1')]).toEqual([before, undefined])
  ses.faults.length = 0
  expect((await move(id)).status).toBe(200)
})

test('A-298 R-09 removes the new identity when SES does not take its settings', async () => {
  const { id, name } = await known()
  ses.faults.push({ on: /feedback/, fault: { status: 400, type: 'BadRequestException', message: 'No.' } })
  const reply = await leavesNoTrace(() => move(id))
  expect([reply.status, reply.body]).toEqual([502, { error: 'No.', code: 'PROVIDER_ERROR' }])
  expect([identityOf(name, 'us-east-1') !== undefined, identityOf(name, 'eu-west-1')]).toEqual([true, undefined])
})

test('A-298 removes the new identity when the domain is deleted in the meantime', async () => {
  const { id, name } = await known()
  ses.whileCreating = () => domains.remove(id)
  const reply = await move(id)
  expect([reply.status, reply.body]).toEqual([404, { error: 'Not found' }])
  expect([identityOf(name, 'us-east-1'), identityOf(name, 'eu-west-1')]).toEqual([undefined, undefined])
})

test('A-298 the domain is moved although SES keeps the former identity, which is only logged', async () => {
  const { id, name } = await known()
  ses.faults.push({ on: /^DELETE/, fault: 'lost' })
  expect((await move(id)).body.region).toBe('eu-west-1')
  expect([identityOf(name, 'us-east-1') !== undefined, identityOf(name, 'eu-west-1') !== undefined]).toEqual([
    true,
    true,
  ])
})

test('A-298 an identity that another org uses stays, and that org removes it with its domain', async () => {
  const { id, name } = await known()
  const other = domainClient(t, await t.org())
  const theirs = (await known(other, name)).id
  expect((await move(id)).status).toBe(200)
  expect([identityOf(name, 'us-east-1')?.selector, await originOf(theirs)]).toEqual(['svc1', 'created'])
  expect((await other.remove(theirs)).status).toBe(200)
  expect([identityOf(name, 'us-east-1'), identityOf(name, 'eu-west-1')?.selector]).toEqual([undefined, 'svc1'])
})

test('A-298 of two requests to the same region one moves the domain, which owns the identity', async () => {
  const { id, name } = await known()
  // The other request finds the identity of this one and moves the domain first.
  ses.whileCreating = () =>
    t.database.sql("update domains set region = 'eu-west-1', identity = 'adopted' where id = $1", [id])
  const { result, trail } = await withTrail(t.database, orgId, () => move(id))
  expect([result.status, trail]).toEqual([200, []])
  expect(await originOf(id)).toBe('created')
  expect((await domains.remove(id)).status).toBe(200)
  expect(identityOf(name, 'eu-west-1')).toBeUndefined()
})
