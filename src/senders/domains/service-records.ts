/** The DNS records that the operator of an installation publishes for the service's own domain, and their check. */
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { publishesKey } from './dkim-record.ts'
import { absentCodes, spfRecordsIn } from './dns.ts'
import { feedbackHosts } from './records.ts'
import { serviceSelector } from './service-dkim.ts'

type ServiceRecord = {
  name: string
  type: 'A' | 'MX' | 'TXT'
  value: string
  purpose: string
  /** Whether what DNS has serves the purpose. */
  accepts(found: readonly string[]): boolean
}

/** `mismatch`: DNS has something else there. `unknown`: DNS did not answer. */
type ServiceRecordStatus = 'found' | 'mismatch' | 'missing' | 'unknown'

export type Installation = {
  serviceDomain: string
  /** The host of BASE_URL. */
  webHost: string | undefined
  /** The relay of the smtp provider, if that is configured. */
  relayHost: string | undefined
  ses: boolean
  receivesBounces: boolean
  /** The public address of this machine, if the operator named it. */
  address: string | undefined
  dkimPublicKey: string
}

const senderTerms = ({ relayHost, ses }: Installation): string[] => {
  const kind = relayHost === undefined ? 0 : isIP(relayHost)
  const relay = relayHost === undefined ? [] : [kind === 0 ? `a:${relayHost}` : `ip${kind}:${relayHost}`]
  return [...relay, ...(ses ? ['include:amazonses.com'] : [])]
}

/** Receivers reject a domain with two SPF records. */
const oneSpf = (found: readonly string[], accepts: (terms: string[]) => boolean): boolean => {
  const [record, ...others] = spfRecordsIn(found)
  return record !== undefined && others.length === 0 && accepts(record.split(' ').slice(1))
}

/** Which addresses a relay sends from is not known here, so every record that allows some sender is accepted. */
const sendersRecord = (installation: Installation): ServiceRecord => ({
  type: 'TXT',
  name: `spf.${installation.serviceDomain}`,
  value: ['v=spf1', ...senderTerms(installation), '~all'].join(' '),
  purpose: 'the servers that send your mail; the SPF records of sending domains include it',
  accepts: (found) =>
    oneSpf(found, (terms) =>
      installation.ses ? terms.includes('include:amazonses.com') : terms.some((term) => !/^[-+~?]?all$/.test(term)),
    ),
})

const includingRecord = (name: string, serviceDomain: string, purpose: string): ServiceRecord => ({
  type: 'TXT',
  name,
  value: `v=spf1 include:spf.${serviceDomain} ~all`,
  purpose,
  accepts: (found) => oneSpf(found, (terms) => terms.includes(`include:spf.${serviceDomain}`)),
})

const addressRecord = (name: string, address: string | undefined, purpose: string): ServiceRecord => ({
  type: 'A',
  name,
  value: address ?? 'the public address of this machine',
  purpose,
  accepts: (found) => (address === undefined ? found.length > 0 : found.includes(address)),
})

const bounceRecords = ({ serviceDomain, address, ses }: Installation): ServiceRecord[] => {
  const [own = '', ...regional] = feedbackHosts(serviceDomain)
  // With SES, the return paths of domains lead to Amazon.
  const hosts = ses ? [own] : [own, ...regional]
  return [
    {
      type: 'MX',
      name: own,
      value: `10 ${own}`,
      purpose: 'bounces and complaints',
      accepts: (found) => found.includes(own),
    },
    ...hosts.map((host) => addressRecord(host, address, 'the server that receives bounces and complaints')),
    includingRecord(own, serviceDomain, 'allows your servers to send with this return path'),
  ]
}

export const serviceRecordsOf = (installation: Installation): ServiceRecord[] => {
  const { serviceDomain, webHost, receivesBounces, dkimPublicKey } = installation
  return [
    sendersRecord(installation),
    includingRecord(serviceDomain, serviceDomain, 'allows your servers to send notices of the service'),
    {
      type: 'TXT',
      name: `${serviceSelector}._domainkey.${serviceDomain}`,
      value: `v=DKIM1; k=rsa; p=${dkimPublicKey}`,
      purpose: 'signs notices and the mail of sandbox senders',
      accepts: (found) => found.some((text) => publishesKey(text, dkimPublicKey)),
    },
    {
      type: 'TXT',
      name: `_dmarc.${serviceDomain}`,
      value: 'v=DMARC1; p=none;',
      purpose: 'how receivers handle mail that fails both; a stricter policy is fine',
      accepts: (found) => found.some((text) => /^\s*v=dmarc1\s*;/i.test(text)),
    },
    ...(receivesBounces ? bounceRecords(installation) : []),
    ...(webHost === undefined ? [] : [addressRecord(webHost, undefined, 'the API, and links in mail')]),
  ]
}

type Options = { servers: readonly string[] | undefined; timeoutMs?: number; tries?: number }

/** An address record counts in either family. */
const lookUpAddresses = async (resolver: Resolver, name: string): Promise<string[]> => {
  const families = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const addresses = families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []))
  const failed = families.find((family) => family.status === 'rejected')
  if (addresses.length === 0 && failed) throw failed.reason
  return addresses
}

const lookUp = async (resolver: Resolver, { type, name }: ServiceRecord): Promise<string[]> => {
  if (type === 'A') return lookUpAddresses(resolver, name)
  if (type === 'TXT') return (await resolver.resolveTxt(name)).map((chunks) => chunks.join(''))
  return (await resolver.resolveMx(name)).map(({ exchange }) => exchange.toLowerCase().replace(/\.$/, ''))
}

export const checkServiceRecords = async (
  records: readonly ServiceRecord[],
  { servers, timeoutMs = 2_000, tries = 2 }: Options,
): Promise<ServiceRecordStatus[]> => {
  const resolver = new Resolver({ timeout: timeoutMs, tries })
  if (servers) resolver.setServers(servers)
  const check = async (record: ServiceRecord): Promise<ServiceRecordStatus> => {
    try {
      const found = await lookUp(resolver, record)
      if (record.accepts(found)) return 'found'
      return found.length > 0 ? 'mismatch' : 'missing'
    } catch (error) {
      return absentCodes.has((error as NodeJS.ErrnoException).code ?? '') ? 'missing' : 'unknown'
    }
  }
  return Promise.all(records.map(check))
}
