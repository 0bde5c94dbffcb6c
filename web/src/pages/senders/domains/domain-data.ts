import { api, unwrap } from '../../../api/client.ts'
import type { components } from '../../../api/schema.gen.ts'
import { domains } from '../../../strings/domains.ts'
import type { Tone } from '../../../ui/badge.tsx'
import { usePages } from '../../../ui/use-pages.ts'

export type Domain = components['schemas']['Domain']
export type DnsRecord = components['schemas']['DomainRecord']
export type Region = Domain['region']

/** Asks again while the page is visible: domains are checked in the background. */
export const checkedAgainMs = 15_000

export const useDomains = () =>
  usePages(
    ['domains', 'list'],
    (cursor) =>
      unwrap(api.GET('/api/internal/domains', { params: { query: { limit: '100', ...(cursor && { cursor }) } } })),
    { refetchInterval: checkedAgainMs },
  )

export const readDomain = (id: string): Promise<Domain> =>
  unwrap(api.GET('/api/internal/domains/{id}', { params: { path: { id } } }))

export const domainTones: Record<Domain['status'], Tone> = { pending: 'warn', verified: 'ok', unverified: 'bad' }
export const recordTones: Record<DnsRecord['status'], Tone> = { pending: 'neutral', found: 'ok', mismatch: 'bad' }

export const regionOptions = Object.entries(domains.regions).map(([value, label]) => ({ value, label }))
