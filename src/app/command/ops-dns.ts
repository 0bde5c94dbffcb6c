/** `tidings ops dns`: prints the DNS records of the installation, and whether they are published. */
import { isIP } from 'node:net'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Config } from '../../platform/ground/config/config.ts'
import { makeVault } from '../../platform/ground/crypto.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { parseSmtpUrl } from '../../platform/ground/smtp-url.ts'
import { makeServiceDkim } from '../../senders/domains/service-dkim.ts'
import { checkServiceRecords, type Installation, serviceRecordsOf } from '../../senders/domains/service-records.ts'
import { resolveMasterKey } from '../operator/master-key.ts'

type Needs = { db: Db; clock: Clock; config: Config; address: string | undefined }

const webHostOf = ({ baseUrl }: Config): string | undefined => {
  const host = baseUrl === undefined ? '' : new URL(baseUrl).hostname
  return host === '' || host === 'localhost' || isIP(host.replace(/^\[|\]$/g, '')) !== 0 ? undefined : host
}

const relayHostOf = ({ emailProviders, smtpUrl }: Config): string | undefined =>
  emailProviders.includes('smtp') ? parseSmtpUrl(smtpUrl ?? '')?.host : undefined

const notesOf = ({ relayHost, receivesBounces, ses, serviceDomain }: Installation): string[] => [
  ...(relayHost === undefined
    ? []
    : [`If ${relayHost} sends from other addresses than its own, name those in spf.${serviceDomain} instead.`]),
  ...(relayHost !== undefined && !receivesBounces
    ? ['INBOUND_SMTP_PORT is not set: bounces of mail through the smtp provider are not received.']
    : []),
  ...(ses ? [`Create an identity for ${serviceDomain} in SES, which sends the notices of the service.`] : []),
]

export const checkServiceDns = async ({ db, clock, config, address }: Needs) => {
  if (address !== undefined && isIP(address) === 0) throw new OperatorFault('--address must be an IP address.')
  const vault = makeVault(await resolveMasterKey(config), config.masterKeyPrevious)
  const { publicKey } = await makeServiceDkim({ db, vault, clock }).readOrCreate()
  const installation: Installation = {
    serviceDomain: config.serviceDomain,
    webHost: webHostOf(config),
    relayHost: relayHostOf(config),
    ses: config.emailProviders.includes('ses'),
    receivesBounces: config.inboundSmtp !== undefined,
    address,
    dkimPublicKey: publicKey,
  }
  const records = serviceRecordsOf(installation)
  const statuses = await checkServiceRecords(records, { servers: config.dnsServers })
  return {
    service_domain: config.serviceDomain,
    published: statuses.every((status) => status === 'found'),
    records: records.map(({ name, type, value, purpose }, at) => ({
      name,
      type,
      value,
      purpose,
      status: statuses[at] as string,
    })),
    notes: notesOf(installation),
  }
}

export type DnsReport = Awaited<ReturnType<typeof checkServiceDns>>

export const dnsReportText = ({ records, notes }: DnsReport): string =>
  [
    ...records.map(
      ({ status, type, name, value, purpose }) =>
        `${status.padEnd(9)} ${type.padEnd(4)} ${name}\n    ${value}\n    (${purpose})`,
    ),
    ...notes,
  ].join('\n')

export const unpublishedText = ({ records }: DnsReport): string => {
  const missing = records.filter(({ status }) => status !== 'found').length
  return `${missing} of ${records.length} records are not published as they should be.`
}
