import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { startDnsServer } from '../../../test/servers/dns-server.ts'
import { tidings } from '../../../test/service/command-line.ts'
import { makeTestDatabase } from '../../../test/service/database.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { ops } from './ops.ts'
import type { DnsReport } from './ops-dns.ts'

const dns = await startDnsServer()
const database = await makeTestDatabase()
afterAll(async () => {
  await dns.close()
  await database.drop()
})
beforeEach(() => dns.zones.clear())

const env = {
  DATABASE_URL: database.url,
  DNS_SERVERS: dns.address,
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  SERVICE_DOMAIN: 'tidings.example',
  BASE_URL: 'https://api.tidings.example',
  EMAIL_PROVIDER: 'smtp',
  SMTP_URL: 'smtp://relay.example:587',
  INBOUND_SMTP_PORT: '25',
}

const run = async (args: string[] = [], more: Record<string, string> = {}) => {
  let stdout = ''
  const fault = await ops(readConfig({ ...env, ...more }), silentLog(), ['dns', ...args], (text) => {
    stdout += text
  }).then(
    () => undefined,
    (error: unknown) => error,
  )
  return { stdout, fault }
}
const report = async (more: Record<string, string> = {}, args: string[] = []): Promise<DnsReport> =>
  JSON.parse((await run(['--json', ...args], more)).stdout)
const statuses = async (more: Record<string, string> = {}, args: string[] = []) =>
  Object.fromEntries((await report(more, args)).records.map(({ type, name, status }) => [`${type} ${name}`, status]))

/** Publishes every record of a report at the address. */
const publish = ({ records }: DnsReport, address = '192.0.2.1') => {
  for (const { name, type, value } of records) {
    const zone = (dns.zones.get(name) ?? {}) as Record<string, unknown[]>
    const [preference, exchange] = value.split(' ')
    const data = type === 'A' ? address : type === 'MX' ? { preference: Number(preference), exchange } : value
    dns.zones.set(name, { ...zone, [type]: [...(zone[type] ?? []), data] })
  }
}

describe('ops dns', () => {
  test('prints every record of an installation that sends through a relay and receives bounces', async () => {
    const { stdout, fault } = await run(['--json'])
    const printed = JSON.parse(stdout) as DnsReport
    const feedback = 'feedback.tidings.example'
    expect(printed.records.map(({ type, name, value }) => [type, name, value])).toEqual([
      ['TXT', 'spf.tidings.example', 'v=spf1 a:relay.example ~all'],
      ['TXT', 'tidings.example', 'v=spf1 include:spf.tidings.example ~all'],
      ['TXT', 'svc1._domainkey.tidings.example', expect.stringMatching(/^v=DKIM1; k=rsa; p=[A-Za-z0-9+/=]{300,}$/)],
      ['TXT', '_dmarc.tidings.example', 'v=DMARC1; p=none;'],
      ['MX', feedback, `10 ${feedback}`],
      ['A', feedback, 'the public address of this machine'],
      ['A', 'feedback.us-east-1.tidings.example', 'the public address of this machine'],
      ['A', 'feedback.eu-west-1.tidings.example', 'the public address of this machine'],
      ['A', 'feedback.ap-south-1.tidings.example', 'the public address of this machine'],
      ['TXT', feedback, 'v=spf1 include:spf.tidings.example ~all'],
      ['A', 'api.tidings.example', 'the public address of this machine'],
    ])
    expect([printed.service_domain, printed.published]).toEqual(['tidings.example', false])
    expect(printed.records.every(({ status }) => status === 'missing')).toBe(true)
    expect(fault).toEqual(new OperatorFault('11 of 11 records are not published as they should be.'))
  })

  test('succeeds once every record is published, and keeps its DKIM key', async () => {
    const first = await report()
    publish(first)
    const { stdout, fault } = await run()
    expect(fault).toBeUndefined()
    expect(stdout).toContain('found     TXT  spf.tidings.example\n    v=spf1 a:relay.example ~all\n')
    expect((await report()).records[2]?.value).toBe(first.records[2]?.value)
  })

  test.for([
    ['TXT', 'spf.tidings.example', ['v=spf1 -all'], 'mismatch'],
    ['TXT', 'spf.tidings.example', ['v=spf1 ip4:192.0.2.0/24 -all'], 'found'],
    ['TXT', 'spf.tidings.example', ['v=spf1 a -all', 'v=spf1 mx -all'], 'mismatch'],
    ['TXT', 'tidings.example', ['v=spf1 include:other.example ~all'], 'mismatch'],
    ['TXT', 'tidings.example', ['verification=1', 'v=spf1 mx include:spf.tidings.example -all'], 'found'],
    ['TXT', 'svc1._domainkey.tidings.example', ['v=DKIM1; k=rsa; p=AAAA'], 'mismatch'],
    ['TXT', '_dmarc.tidings.example', ['v=DMARC1; p=reject; rua=mailto:d@tidings.example'], 'found'],
    ['TXT', '_dmarc.tidings.example', ['hello'], 'mismatch'],
    ['MX', 'feedback.tidings.example', [{ preference: 1, exchange: 'mx.other.example' }], 'mismatch'],
    ['A', 'feedback.eu-west-1.tidings.example', [], 'missing'],
  ] as const)('reports %s %s with %j as %s, and the others as found', async ([type, name, data, expected]) => {
    const all = await report()
    publish(all)
    dns.zones.set(name, { ...(dns.zones.get(name) as object), [type]: data })
    const expectedAll = Object.fromEntries(all.records.map((record) => [`${record.type} ${record.name}`, 'found']))
    expect(await statuses()).toEqual({ ...expectedAll, [`${type} ${name}`]: expected })
    expect((await run()).fault === undefined).toBe(expected === 'found')
  })

  test('compares addresses when the operator names the public one, in either family', async () => {
    publish(await report())
    const host = 'A feedback.us-east-1.tidings.example'
    expect((await statuses({}, ['--address', '192.0.2.1']))[host]).toBe('found')
    expect((await statuses({}, ['--address', '192.0.2.2']))[host]).toBe('mismatch')
    dns.zones.set('feedback.us-east-1.tidings.example', { AAAA: ['2001:db8::1'] })
    expect((await statuses({}, ['--address', '2001:db8::1']))[host]).toBe('found')
    expect((await run(['--address', 'here'])).fault).toEqual(new OperatorFault('--address must be an IP address.'))
  })

  test('reports a server that fails as unknown, and does not succeed', async () => {
    publish(await report())
    dns.zones.set('_dmarc.tidings.example', 'SERVFAIL')
    expect((await statuses())['TXT _dmarc.tidings.example']).toBe('unknown')
    expect((await run()).fault).toEqual(new OperatorFault('1 of 11 records are not published as they should be.'))
  })

  test('prints the records that SES needs, and none for bounces without the port', async () => {
    const { records, notes } = await report({ EMAIL_PROVIDER: 'ses', INBOUND_SMTP_PORT: '', BASE_URL: '' })
    expect(records.map(({ type, name }) => `${type} ${name}`)).toEqual([
      'TXT spf.tidings.example',
      'TXT tidings.example',
      'TXT svc1._domainkey.tidings.example',
      'TXT _dmarc.tidings.example',
    ])
    expect(records[0]?.value).toBe('v=spf1 include:amazonses.com ~all')
    expect(notes).toEqual(['Create an identity for tidings.example in SES, which sends the notices of the service.'])
  })

  test('says that bounces are not received when the port is not set', async () => {
    const { notes } = await report({ INBOUND_SMTP_PORT: '', SMTP_URL: 'smtp://192.0.2.7:25' })
    expect(notes).toContain('INBOUND_SMTP_PORT is not set: bounces of mail through the smtp provider are not received.')
  })

  test('exits with 1 when a record is missing and with 0 when all are published', async () => {
    const missing = await tidings(['ops', 'dns', '--json'], env)
    expect([missing.code, missing.stderr]).toEqual([1, '11 of 11 records are not published as they should be.\n'])
    publish(JSON.parse(missing.stdout))
    const { code, stderr } = await tidings(['ops', 'dns'], env)
    expect([code, stderr]).toEqual([0, ''])
  })
})
