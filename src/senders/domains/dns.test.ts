import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { startDnsServer } from '../../../test/servers/dns-server.ts'
import { newDkimKey } from './dkim-key.ts'
import { makeCheckDns } from './dns.ts'
import { recordsOf } from './records.ts'

const dns = await startDnsServer()
afterAll(() => dns.close())
const { publicKey } = await newDkimKey()

const domain = {
  name: 'example.com',
  region: 'eu-west-1' as const,
  return_path: 'send',
  inbound: true,
  dkim_selector: 'svc1',
  dkim_public_key: publicKey,
}
const records = recordsOf(domain, { serviceDomain: 'tidings.example', ses: false })
const check = makeCheckDns({ servers: [dns.address] })
/** For names that the server never answers. */
const impatient = makeCheckDns({ servers: [dns.address], timeoutMs: 50, tries: 1 })

const dkimHost = 'svc1._domainkey.example.com'
const dkimValue = `v=DKIM1; k=rsa; p=${publicKey}`
const allPending = {
  DKIM: 'pending',
  RETURN_PATH: 'pending',
  SPF: 'pending',
  DMARC: 'pending',
  INBOUND: 'pending',
}
const mx = (exchange: string) => ({ MX: [{ preference: 10, exchange }] })

const publish = () => {
  dns.zones.set(dkimHost, { TXT: [dkimValue] })
  dns.zones.set('send.example.com', {
    ...mx('feedback.eu-west-1.tidings.example'),
    TXT: ['v=spf1 include:spf.tidings.example ~all'],
  })
  dns.zones.set('_dmarc.example.com', { TXT: ['v=DMARC1; p=none;'] })
  dns.zones.set('example.com', mx('inbound.eu-west-1.tidings.example'))
}

beforeEach(() => {
  dns.zones.clear()
  dns.asked.length = 0
})

describe('records', () => {
  test('XD-19 are found when they are published as generated, also over TCP when the answer is large', async () => {
    publish()
    const before = dns.overTcp()
    expect(await check(records)).toEqual({
      dkim: 'SUCCESS',
      records: { DKIM: 'found', RETURN_PATH: 'found', SPF: 'found', DMARC: 'found', INBOUND: 'found' },
    })
    expect(dns.asked.map((query) => query.toLowerCase())).toEqual(
      expect.arrayContaining(
        [
          'TXT svc1._domainkey.example.com',
          'MX send.example.com',
          'TXT send.example.com',
          'TXT _dmarc.example.com',
          'MX example.com',
        ].map((query) => query.toLowerCase()),
      ),
    )
    dns.zones.set(dkimHost, { TXT: [dkimValue, 'x'.repeat(400)] })
    expect((await check(records)).dkim).toBe('SUCCESS')
    expect(dns.overTcp()).toBeGreaterThan(before)
  })

  test('XD-19 are pending when the name does not exist or has no record of the type', async () => {
    expect(await check(records)).toEqual({ dkim: 'PENDING', records: allPending })
    for (const host of [dkimHost, 'send.example.com', '_dmarc.example.com', 'example.com']) dns.zones.set(host, {})
    expect(await check(records)).toEqual({ dkim: 'PENDING', records: allPending })
  })

  test('XD-19 are a mismatch when something else is published', async () => {
    dns.zones.set(dkimHost, { TXT: [`v=DKIM1; k=rsa; p=${(await newDkimKey()).publicKey}`] })
    dns.zones.set('send.example.com', {
      ...mx('mail.other.example'),
      TXT: ['v=spf1 include:other.example -all'],
    })
    dns.zones.set('_dmarc.example.com', { TXT: ['hello'] })
    dns.zones.set('example.com', mx('mail.other.example'))
    expect(await check(records)).toEqual({
      dkim: 'FAILED',
      records: {
        DKIM: 'mismatch',
        RETURN_PATH: 'mismatch',
        SPF: 'mismatch',
        DMARC: 'mismatch',
        INBOUND: 'mismatch',
      },
    })
  })
})

describe('a published DKIM record', () => {
  const half = Math.floor(publicKey.length / 2)
  const other = 'v=DKIM1; k=rsa; p=AAAA'
  test.for<[title: string, texts: (string | string[])[], status: string]>([
    [
      'in chunks that split the key',
      [[dkimValue.slice(0, 40), dkimValue.slice(40, 200), dkimValue.slice(200)]],
      'SUCCESS',
    ],
    [
      'with different white space',
      [`v=DKIM1;k=rsa;  p=${publicKey.slice(0, half)} ${publicKey.slice(half)}`],
      'SUCCESS',
    ],
    ['with a trailing semicolon', [`${dkimValue};`], 'SUCCESS'],
    ['with a different order of tags and upper-case tag names', [`p=${publicKey}; K=rsa; V=DKIM1`], 'SUCCESS'],
    ['next to another record', [other, dkimValue], 'SUCCESS'],
    ['with another key', [other], 'FAILED'],
    ['with the key in lower case', [`v=DKIM1; k=rsa; p=${publicKey.toLowerCase()}`], 'FAILED'],
    ['with an empty key', ['v=DKIM1; k=rsa; p='], 'FAILED'],
    ['with a truncated key', [dkimValue.slice(0, -4)], 'FAILED'],
    ['with only the key', [`p=${publicKey}`], 'SUCCESS'],
    ['without a version', [`k=rsa; p=${publicKey}`], 'SUCCESS'],
    ['without a key type', [`v=DKIM1; p=${publicKey}`], 'SUCCESS'],
    ['with the flag that excludes subdomains', [`v=DKIM1; k=rsa; t=s; p=${publicKey}`], 'SUCCESS'],
    ['with the testing flag', [`v=DKIM1; k=rsa; t=y:s; p=${publicKey}`], 'SUCCESS'],
    ['with white space around its tags', [` v = DKIM1 ;\r\n\tk = rsa ; p =\t${publicKey} ; `], 'SUCCESS'],
    ['with notes and unknown tags', [`v=DKIM1; n=ours, since = May; g=*; p=${publicKey}`], 'SUCCESS'],
    ['that allows sha256 and another hash', [`v=DKIM1; h=sha1 : sha256; p=${publicKey}`], 'SUCCESS'],
    ['for the email service', [`v=DKIM1; s=email; p=${publicKey}`], 'SUCCESS'],
    ['for every service', [`v=DKIM1; s=tlsrpt:*; p=${publicKey}`], 'SUCCESS'],
    ['that allows only another hash', [`v=DKIM1; h=sha1; p=${publicKey}`], 'FAILED'],
    ['that allows no hash', [`v=DKIM1; h=; p=${publicKey}`], 'FAILED'],
    ['for another service only', [`v=DKIM1; s=tlsrpt; p=${publicKey}`], 'FAILED'],
    ['with another key type', [`v=DKIM1; k=ed25519; p=${publicKey}`], 'FAILED'],
    ['with another version', [`v=DKIM2; p=${publicKey}`], 'FAILED'],
    ['with a version that only starts with DKIM1', [`v=DKIM1.0; p=${publicKey}`], 'FAILED'],
    ['whose version is not the first tag', [`p=${publicKey}; v=DKIM1`], 'FAILED'],
    ['with the key twice', [`v=DKIM1; p=${publicKey}; p=${publicKey}`], 'FAILED'],
    ['with the key and another one', [`v=DKIM1; p=${publicKey}; p=AAAA`], 'FAILED'],
    ['with an empty key followed by the key', [`v=DKIM1; p=; p=${publicKey}`], 'FAILED'],
    ['with another tag twice', [`v=DKIM1; n=a; n=b; p=${publicKey}`], 'FAILED'],
    ['with the key only in a note', [`v=DKIM1; n=p=${publicKey}; p=AAAA`], 'FAILED'],
    ['with a part that is not a tag', [`v=DKIM1; hello; p=${publicKey}`], 'FAILED'],
    ['with extra characters after the key', [`v=DKIM1; p=${publicKey}AAAA`], 'FAILED'],
    ['that is empty', [''], 'FAILED'],
    ['of 20,000 semicolons', [';'.repeat(20_000)], 'FAILED'],
    ['with 20,000 spaces', [`v=DKIM1;${' '.repeat(20_000)}=`], 'FAILED'],
    ['of 4,000 tags', [Array.from({ length: 4_000 }, (_, i) => `a${i}=`).join(';')], 'FAILED'],
  ])('XD-19 %s', async ([, texts, status]) => {
    dns.zones.set(dkimHost, { TXT: texts })
    expect((await check(records)).dkim).toBe(status)
  })

  test('is found under an upper-case name, because DNS ignores case', async () => {
    publish()
    const upperCase = records.map((record) => ({ ...record, name: record.name.toUpperCase() }))
    expect((await check(upperCase)).dkim).toBe('SUCCESS')
  })
})

describe('recommended records', () => {
  const spf = async (text: string) => {
    dns.zones.set('send.example.com', { TXT: [text] })
    return (await check(records)).records.SPF
  }
  test('an SPF record may include other senders too, and other TXT records are ignored', async () => {
    expect(await spf('v=spf1  include:other.example INCLUDE:spf.tidings.example -all')).toBe('found')
    expect(await spf('v=spf1 include:spf.tidings.example.org ~all')).toBe('mismatch')
    expect(await spf('v=spf10 include:spf.tidings.example ~all')).toBe('pending')
    expect(await spf('some-site-verification=1')).toBe('pending')
  })

  test('a DMARC record may be stricter than the suggested one, and other MX hosts are allowed', async () => {
    dns.zones.set('_dmarc.example.com', { TXT: ['v=DMARC1;p=reject; rua=mailto:d@example.com'] })
    dns.zones.set('send.example.com', {
      MX: [
        { preference: 5, exchange: 'other.example' },
        { preference: 10, exchange: 'Feedback.EU-west-1.tidings.example' },
      ],
    })
    expect((await check(records)).records).toMatchObject({ DMARC: 'found', RETURN_PATH: 'found' })
  })
})

describe('DNS failures', () => {
  test.for(['SERVFAIL', 'REFUSED'] as const)(
    'X-107 %s for the DKIM record is a temporary failure and leaves its status unknown',
    async (fault) => {
      publish()
      dns.zones.set(dkimHost, fault)
      expect(await check(records)).toEqual({
        dkim: 'TEMPORARY_FAILURE',
        records: { RETURN_PATH: 'found', SPF: 'found', DMARC: 'found', INBOUND: 'found' },
      })
    },
  )

  test('X-107 no answer for the DKIM record is a temporary failure', async () => {
    publish()
    dns.zones.set(dkimHost, 'silent')
    const { dkim, records: statuses } = await impatient(records)
    expect(dkim).toBe('TEMPORARY_FAILURE')
    expect(statuses).not.toHaveProperty('DKIM')
  })

  test('a failure for a recommended record does not affect verification', async () => {
    publish()
    dns.zones.set('send.example.com', 'SERVFAIL')
    expect(await check(records)).toEqual({
      dkim: 'SUCCESS',
      records: { DKIM: 'found', DMARC: 'found', INBOUND: 'found' },
    })
  })

  test('an unreachable server is a temporary failure and leaves all statuses unknown', async () => {
    const unreachable = makeCheckDns({ servers: ['127.0.0.1:1'], timeoutMs: 50, tries: 1 })
    expect(await unreachable(records)).toEqual({ dkim: 'TEMPORARY_FAILURE', records: {} })
  })

  test('a check ends at its deadline even when each lookup would wait longer', async () => {
    for (const { name } of records) dns.zones.set(name, 'silent')
    const patient = makeCheckDns({ servers: [dns.address], timeoutMs: 60_000, tries: 4, deadlineMs: 50 })
    expect(await patient(records)).toEqual({ dkim: 'TEMPORARY_FAILURE', records: {} })
  })
})
