import { api, unwrap } from '../../../api/client.ts'
import type { components } from '../../../api/schema.gen.ts'
import { domains } from '../../../strings/domains.ts'
import { StatusDot, type Tone } from '../../../ui/badge.tsx'
import type { Resource } from '../../../ui/resource.ts'
import { optionsOf } from '../../../ui/select.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { pageOf } from '../../../ui/use-pages.ts'

export type Domain = components['schemas']['Domain']
export type DnsRecord = components['schemas']['DomainRecord']
export type Region = Domain['region']

export const domainTones: Record<Domain['status'], Tone> = { pending: 'warn', verified: 'ok', unverified: 'bad' }
export const recordTones: Record<DnsRecord['status'], Tone> = { pending: 'neutral', found: 'ok', mismatch: 'bad' }

export const regionOptions = optionsOf(domains.regions)

export const domainList: Resource<Domain> = {
  key: ['domains'],
  title: domains.title,
  titleOf: ({ name }) => name,
  gone: domains.gone,
  load: (cursor) => unwrap(api.GET('/api/internal/domains', { params: { query: pageOf(cursor, 100) } })),
  read: (id) => unwrap(api.GET('/api/internal/domains/{id}', { params: { path: { id } } })),
  /** Asks again while the page is visible: domains are checked in the background. */
  refetchInterval: 15_000,
  columns: [
    { id: 'name', header: domains.columns.name, cell: ({ name }) => <span className="font-medium">{name}</span> },
    {
      id: 'status',
      header: domains.columns.status,
      cell: ({ status }) => <StatusDot tone={domainTones[status]}>{domains.statuses[status]}</StatusDot>,
    },
    {
      id: 'region',
      header: domains.columns.region,
      className: 'hidden md:table-cell',
      cell: ({ region }) => domains.regions[region],
    },
    {
      id: 'warmup',
      header: domains.columns.warmup,
      className: 'hidden lg:table-cell',
      cell: ({ warmup }) => (warmup ? domains.warmupState(warmup.day, warmup.days) : '–'),
    },
    timeColumn('last_checked_at', domains.columns.checked, { className: 'hidden sm:table-cell', align: 'right' }),
  ],
}
