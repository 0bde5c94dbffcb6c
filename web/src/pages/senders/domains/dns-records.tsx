import { domains } from '../../../strings/domains.ts'
import { Badge, StatusDot } from '../../../ui/badge.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { type DnsRecord, recordTones } from './domain-data.tsx'

const words = domains.records

const Part = ({ name, value }: { name: string; value: string }) => (
  <div className="grid grid-cols-[72px_minmax(0,1fr)] items-start gap-2">
    <dt className="pt-0.5 text-muted text-xs">{name}</dt>
    <dd className="flex items-start justify-between gap-2">
      <span className="min-w-0 break-all font-mono text-xs leading-5">{value}</span>
      <CopyButton text={value} label={domains.records.copy(name.toLowerCase())} />
    </dd>
  </div>
)

const Record = ({ record }: { record: DnsRecord }) => (
  <li className="rounded-md border">
    <div className="flex flex-wrap items-center justify-between gap-2 border-b bg-surface px-3 py-2">
      <span className="flex items-center gap-2 font-medium text-sm">
        {record.record.replace('_', ' ')}
        <Badge tone={record.required ? 'info' : 'neutral'}>
          {record.required ? words.required : words.recommended}
        </Badge>
      </span>
      <StatusDot tone={recordTones[record.status]}>{domains.recordStatuses[record.status]}</StatusDot>
    </div>
    <dl className="flex flex-col gap-1.5 p-3">
      <Part name={words.type} value={record.type} />
      <Part name={words.name} value={record.name} />
      <Part name={words.value} value={record.value} />
      {record.priority !== null && <Part name={words.priority} value={String(record.priority)} />}
      <Part name={words.ttl} value={String(record.ttl)} />
    </dl>
  </li>
)

export const DnsRecords = ({ records }: { records: readonly DnsRecord[] }) => (
  <div className="flex flex-col gap-3">
    <p className="text-muted text-sm">{words.help}</p>
    <ul aria-label={domains.tabs.records} className="flex flex-col gap-3">
      {records.map((record) => (
        <Record key={`${record.record} ${record.name}`} record={record} />
      ))}
    </ul>
  </div>
)
