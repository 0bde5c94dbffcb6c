import type { components } from '../../../api/schema.gen.ts'
import type { FieldGroup } from '../../../parts/resource/form-fields.tsx'
import type { FormResource } from '../../../parts/resource/form-resource.ts'
import { routesById } from '../../../parts/resource/form-routes.ts'
import { createdColumn } from '../../../parts/resource/row-status.tsx'
import { ipPools } from '../../../strings/ip-pools.ts'
import { senders } from '../../../strings/senders.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { curl } from '../../../ui/curl.ts'
import { optionsOf } from '../../../ui/select.tsx'

type IpPool = components['schemas']['IpPool']

const State = ({ paused }: { paused: boolean }) => (
  <StatusDot tone={paused ? 'warn' : 'ok'}>{paused ? ipPools.paused : ipPools.active}</StatusDot>
)

const Addresses = ({ ips }: Pick<IpPool, 'ips'>) => (
  <ul className="flex flex-col gap-1">
    {ips.map(({ address, status }, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: an address without a value has no identity
      <li key={index} className="flex flex-wrap items-center justify-between gap-2">
        <span className={address ? 'font-mono' : 'text-muted'}>{address ?? ipPools.waiting}</span>
        <StatusDot tone={status === 'active' ? 'ok' : 'info'}>{ipPools.states[status]}</StatusDot>
      </li>
    ))}
  </ul>
)

const group: FieldGroup = {
  title: ipPools.one,
  fields: [
    { name: 'name', label: senders.name, required: true },
    {
      name: 'region',
      label: ipPools.region,
      help: ipPools.regionHelp,
      kind: 'select',
      options: optionsOf(ipPools.regions),
      initial: 'us-east-1',
      required: true,
      fixed: true,
    },
    { name: 'ip_count', label: ipPools.count, help: ipPools.countHelp, kind: 'number', initial: '1', required: true },
  ],
}

/** A pool is made running. It can be paused later. */
const groupsFor = (values: Record<string, string>): FieldGroup[] =>
  values.id === undefined
    ? [group]
    : [{ ...group, fields: [...group.fields, { name: 'paused', label: ipPools.pause, kind: 'check' }] }]

export const ipPoolKind: FormResource<IpPool> = {
  name: 'ip-pools',
  title: ipPools.title,
  create: ipPools.create,
  gate: 'requireOwnerSession',
  titleOf: ({ name }) => name,
  columns: [
    { id: 'name', header: senders.name, cell: ({ name }) => <span className="font-medium">{name}</span> },
    { id: 'state', header: ipPools.state, className: 'w-28', cell: ({ paused }) => <State paused={paused} /> },
    { id: 'region', header: ipPools.region, className: 'hidden w-32 sm:table-cell', cell: ({ region }) => region },
    { id: 'count', header: ipPools.count, className: 'w-28', align: 'right', cell: ({ ip_count }) => ip_count },
    {
      id: 'domains',
      header: ipPools.domains,
      className: 'hidden w-24 sm:table-cell',
      align: 'right',
      cell: ({ domain_ids }) => domain_ids.length,
    },
    createdColumn(),
  ],
  facts: ({ paused, region, ips, domain_ids }) => [
    { name: ipPools.state, value: <State paused={paused} /> },
    { name: ipPools.region, value: ipPools.regions[region] },
    { name: ipPools.domains, value: domain_ids.length > 0 ? domain_ids.join(', ') : ipPools.domainsNone },
    { name: ipPools.addresses, value: <Addresses ips={ips} /> },
  ],
  ...routesById<IpPool>('/api/internal/ip-pools'),
  kept: ({ domain_ids }) => (domain_ids.length > 0 ? ipPools.inUse : undefined),
  deleteHelp: ipPools.delete,
  useGroups: () => groupsFor,
  empty: {
    title: ipPools.empty,
    help: ipPools.emptyHelp,
    curl: curl('POST', '/ip-pools', { name: 'Newsletters', ip_count: 2 }),
  },
}
