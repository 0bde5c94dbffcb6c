import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { startDnsServer } from '../../test/servers/dns-server.ts'
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
const records = recordsOf(domain, 'tidings.example')
const check = makeCheckDns({ servers: [dns.address] })
/** For names that never get an answer. */
const hasty = makeCheckDns({ servers: [dns.address], timeoutMs: 50, tries: 1 })

const dkimHost = 'svc1._domainkey.example.com'
const dkimValue = `v=DKIM1; k=rsa; p=${publicKey}`
const nothing = {
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

describe('the records', () => {
  test('XD-19 are found where they are published as given, a large key over TCP', async () => {
    publish()
    const before = dns.overTcp()
    expect(await check(records)).toEqual({
      dkim: 'SUCCESS',
      records: { DKIM: 'found', RETURN_PATH: 'found', SPF: 'found', DMARC: 'found', INBOUND: 'found' },
    })
    expect(dns.asked.map((question) => question.toLowerCase())).toEqual(
      expect.arrayContaining(
        [
          'TXT svc1._domainkey.example.com',
          'MX send.example.com',
          'TXT send.example.com',
          'TXT _dmarc.example.com',
          'MX example.com',
        ].map((question) => question.toLowerCase()),
      ),
    )
    dns.zones.set(dkimHost, { TXT: [dkimValue, 'x'.repeat(400)] })
    expect((await check(records)).dkim).toBe('SUCCESS')
    expect(dns.overTcp()).toBeGreaterThan(before)
  })

  test('XD-19 are pending where the name, or a record of the type, is not there', async () => {
    expect(await check(records)).toEqual({ dkim: 'PENDING', records: nothing })
    for (const host of [dkimHost, 'send.example.com', '_dmarc.example.com', 'example.com']) dns.zones.set(host, {})
    expect(await check(records)).toEqual({ dkim: 'PENDING', records: nothing })
  })

  test('XD-19 are a mismatch where something else stands', async () => {
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

describe('a DKIM record', () => {
  const half = Math.floor(publicKey.length / 2)
  const other = 'v=DKIM1; k=rsa; p=AAAA'
  test.for<[title: string, texts: (string | string[])[], outcome: string]>([
    [
      'in chunks that split the key',
      [[dkimValue.slice(0, 40), dkimValue.slice(40, 200), dkimValue.slice(200)]],
      'SUCCESS',
    ],
    ['with other spaces', [`v=DKIM1;k=rsa;  p=${publicKey.slice(0, half)} ${publicKey.slice(half)}`], 'SUCCESS'],
    ['without or with a semicolon at its end', [`${dkimValue};`], 'SUCCESS'],
    ['with its tags in another order and case', [`p=${publicKey}; K=rsa; V=DKIM1`], 'SUCCESS'],
    ['beside another', [other, dkimValue], 'SUCCESS'],
    ['of another key', [other], 'FAILED'],
    ['of the key in another case', [`v=DKIM1; k=rsa; p=${publicKey.toLowerCase()}`], 'FAILED'],
    ['that was withdrawn', ['v=DKIM1; k=rsa; p='], 'FAILED'],
    ['cut short', [dkimValue.slice(0, -4)], 'FAILED'],
    ['of the key alone', [`p=${publicKey}`], 'SUCCESS'],
    ['without its version', [`k=rsa; p=${publicKey}`], 'SUCCESS'],
    ['without its kind of key', [`v=DKIM1; p=${publicKey}`], 'SUCCESS'],
    ['for names below it as well or not', [`v=DKIM1; k=rsa; t=s; p=${publicKey}`], 'SUCCESS'],
    ['that is being tried out', [`v=DKIM1; k=rsa; t=y:s; p=${publicKey}`], 'SUCCESS'],
    ['with spaces around its tags', [` v = DKIM1 ;\r\n\tk = rsa ; p =\t${publicKey} ; `], 'SUCCESS'],
    ['with notes and tags of later times', [`v=DKIM1; n=ours, since = May; g=*; p=${publicKey}`], 'SUCCESS'],
    ['for our hash among others', [`v=DKIM1; h=sha1 : sha256; p=${publicKey}`], 'SUCCESS'],
    ['for email', [`v=DKIM1; s=email; p=${publicKey}`], 'SUCCESS'],
    ['for every service', [`v=DKIM1; s=tlsrpt:*; p=${publicKey}`], 'SUCCESS'],
    ['for another hash', [`v=DKIM1; h=sha1; p=${publicKey}`], 'FAILED'],
    ['for no hash', [`v=DKIM1; h=; p=${publicKey}`], 'FAILED'],
    ['for another service', [`v=DKIM1; s=tlsrpt; p=${publicKey}`], 'FAILED'],
    ['of another kind of key', [`v=DKIM1; k=ed25519; p=${publicKey}`], 'FAILED'],
    ['of another version', [`v=DKIM2; p=${publicKey}`], 'FAILED'],
    ['of a version that only begins alike', [`v=DKIM1.0; p=${publicKey}`], 'FAILED'],
    ['whose version is not first', [`p=${publicKey}; v=DKIM1`], 'FAILED'],
    ['with its key twice', [`v=DKIM1; p=${publicKey}; p=${publicKey}`], 'FAILED'],
    ['with its key and another', [`v=DKIM1; p=${publicKey}; p=AAAA`], 'FAILED'],
    ['withdrawn and given', [`v=DKIM1; p=; p=${publicKey}`], 'FAILED'],
    ['with another tag twice', [`v=DKIM1; n=a; n=b; p=${publicKey}`], 'FAILED'],
    ['with its key in a note', [`v=DKIM1; n=p=${publicKey}; p=AAAA`], 'FAILED'],
    ['with a piece that is no tag', [`v=DKIM1; hello; p=${publicKey}`], 'FAILED'],
    ['with more behind its key', [`v=DKIM1; p=${publicKey}AAAA`], 'FAILED'],
    ['of nothing', [''], 'FAILED'],
    ['of semicolons', [';'.repeat(20_000)], 'FAILED'],
    ['of spaces', [`v=DKIM1;${' '.repeat(20_000)}=`], 'FAILED'],
    ['of many tags', [Array.from({ length: 4_000 }, (_, i) => `a${i}=`).join(';')], 'FAILED'],
  ])('XD-19 %s', async ([, texts, outcome]) => {
    dns.zones.set(dkimHost, { TXT: texts })
    expect((await check(records)).dkim).toBe(outcome)
  })

  test('is found under a name written in capitals, which DNS does not tell apart', async () => {
    publish()
    const shouted = records.map((record) => ({ ...record, name: record.name.toUpperCase() }))
    expect((await check(shouted)).dkim).toBe('SUCCESS')
  })
})

describe('advice', () => {
  const spf = async (text: string) => {
    dns.zones.set('send.example.com', { TXT: [text] })
    return (await check(records)).records.SPF
  }
  test('an SPF record may allow others too, and other texts may stand beside it', async () => {
    expect(await spf('v=spf1  include:other.example INCLUDE:spf.tidings.example -all')).toBe('found')
    expect(await spf('v=spf1 include:spf.tidings.example.org ~all')).toBe('mismatch')
    expect(await spf('v=spf10 include:spf.tidings.example ~all')).toBe('pending')
    expect(await spf('some-site-verification=1')).toBe('pending')
  })

  test('a DMARC record may be stricter than the one proposed, and an MX host ends in a dot or not', async () => {
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

describe('DNS that fails', () => {
  test.for(['SERVFAIL', 'REFUSED'] as const)(
    'X-107 %s on the DKIM record is a temporary failure, and says nothing of that record',
    async (fault) => {
      publish()
      dns.zones.set(dkimHost, fault)
      expect(await check(records)).toEqual({
        dkim: 'TEMPORARY_FAILURE',
        records: { RETURN_PATH: 'found', SPF: 'found', DMARC: 'found', INBOUND: 'found' },
      })
    },
  )

  test('X-107 so is silence', async () => {
    publish()
    dns.zones.set(dkimHost, 'silent')
    const { dkim, records: looked } = await hasty(records)
    expect(dkim).toBe('TEMPORARY_FAILURE')
    expect(looked).not.toHaveProperty('DKIM')
  })

  test('a fault of a record that is only advice leaves the proof standing', async () => {
    publish()
    dns.zones.set('send.example.com', 'SERVFAIL')
    expect(await check(records)).toEqual({
      dkim: 'SUCCESS',
      records: { DKIM: 'found', DMARC: 'found', INBOUND: 'found' },
    })
  })

  test('where nobody listens everything is unknown', async () => {
    const nowhere = makeCheckDns({ servers: ['127.0.0.1:1'], timeoutMs: 50, tries: 1 })
    expect(await nowhere(records)).toEqual({ dkim: 'TEMPORARY_FAILURE', records: {} })
  })

  test('a check ends at its deadline, however patient each question is', async () => {
    for (const { name } of records) dns.zones.set(name, 'silent')
    const patient = makeCheckDns({ servers: [dns.address], timeoutMs: 60_000, tries: 4, deadlineMs: 50 })
    expect(await patient(records)).toEqual({ dkim: 'TEMPORARY_FAILURE', records: {} })
  })
})
