/** The DNS records that the owner of a domain publishes. */
import { type Region, regions } from './region.ts'

export const recordNames = ['DKIM', 'RETURN_PATH', 'SPF', 'DMARC', 'INBOUND'] as const
export type RecordName = (typeof recordNames)[number]
export type RecordStatus = 'pending' | 'found' | 'mismatch'
export type RecordStatuses = Partial<Record<RecordName, RecordStatus>>

export type DnsRecord = {
  record: RecordName
  type: 'TXT' | 'MX'
  name: string
  value: string
  ttl: number
  priority: number | null
  /** True for DKIM, which alone decides whether the domain is verified. The other records are recommended. */
  required: boolean
}

type PublishedDomain = {
  name: string
  region: Region
  return_path: string
  inbound: boolean
  dkim_selector: string
  dkim_public_key: string | null
}

const ttl = 3600

/** Where mail of this installation goes. With `ses`, Amazon SES is one of its providers and receives the bounces. */
export type MailHosts = { serviceDomain: string; ses: boolean }

export const returnHost = ({ name, return_path }: Pick<PublishedDomain, 'name' | 'return_path'>): string =>
  `${return_path}.${name}`

/** The hosts of the service that receive bounces: one for domains without a return path, and one for each region. */
export const feedbackHosts = (serviceDomain: string): string[] => [
  `feedback.${serviceDomain}`,
  ...regions.map((region) => `feedback.${region}.${serviceDomain}`),
]

export const recordsOf = (row: PublishedDomain, { serviceDomain, ses }: MailHosts): DnsRecord[] => {
  const txt = { type: 'TXT', ttl, priority: null, required: false } as const
  const mx = { type: 'MX', ttl, priority: 10, required: false } as const
  const bounceHost = returnHost(row)
  // SES uses the return path only if its MX record names a host of SES.
  const bounceMx = ses ? `feedback-smtp.${row.region}.amazonses.com` : `feedback.${row.region}.${serviceDomain}`
  return [
    {
      ...txt,
      record: 'DKIM',
      name: `${row.dkim_selector}._domainkey.${row.name}`,
      value: `v=DKIM1; k=rsa; p=${row.dkim_public_key ?? ''}`,
      required: true,
    },
    { ...mx, record: 'RETURN_PATH', name: bounceHost, value: bounceMx },
    { ...txt, record: 'SPF', name: bounceHost, value: `v=spf1 include:spf.${serviceDomain} ~all` },
    { ...txt, record: 'DMARC', name: `_dmarc.${row.name}`, value: 'v=DMARC1; p=none;' },
    ...(row.inbound
      ? [
          {
            ...mx,
            record: 'INBOUND' as const,
            name: row.name,
            value: `inbound.${row.region}.${serviceDomain}`,
          },
        ]
      : []),
  ]
}
