import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { audit } from '../../../strings/audit.ts'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { DetailList } from '../../../ui/detail-list.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import type { Resource } from '../../../ui/resource.ts'
import { ResourceList } from '../../../ui/resource-list.tsx'
import type { Column } from '../../../ui/table.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { pageOf } from '../../../ui/use-pages.ts'
import { type AuditFilters, useMembers } from './audit-filters.tsx'

type Entry = operations['getApiInternalAudit']['responses'][200]['content']['application/json']['data'][number]

/** A key and the service itself act without a person. */
const actorOf = ({ actorUserId, metadata }: Entry): string => {
  if (actorUserId) return actorUserId
  return metadata?.via === 'api_key' ? `${audit.apiKey} ${metadata.api_key_id ?? ''}` : audit.system
}

const columnsFor = (names: ReadonlyMap<string, string>): Column<Entry>[] => [
  { id: 'action', header: audit.action, className: 'font-mono', cell: ({ action }) => action },
  {
    id: 'actor',
    header: audit.actor,
    className: 'hidden md:table-cell',
    cell: (entry) => {
      const name = names.get(entry.actorUserId ?? '')
      return name ? <span title={actorOf(entry)}>{name}</span> : <span className="font-mono">{actorOf(entry)}</span>
    },
  },
  {
    id: 'resource',
    header: audit.resource,
    className: 'hidden font-mono lg:table-cell',
    cell: ({ resourceType, resourceId }) => resourceId ?? resourceType ?? '–',
  },
  {
    id: 'address',
    header: audit.address,
    className: 'hidden w-36 font-mono lg:table-cell',
    cell: ({ ipAddress }) => ipAddress ?? '–',
  },
  timeColumn('createdAt', audit.when, { className: 'w-28' }),
]

const EntryDetail = ({ entry }: { entry: Entry }) => (
  <div className="flex flex-col gap-4">
    <DetailList
      facts={[
        { name: audit.id, value: <Copyable text={entry.id} /> },
        { name: audit.when, value: new Date(entry.createdAt).toISOString().replace('T', ' ').replace('Z', ' UTC') },
        { name: audit.actor, value: <Copyable text={actorOf(entry)} /> },
        { name: audit.resourceType, value: entry.resourceType },
        { name: audit.resourceId, value: entry.resourceId && <Copyable text={entry.resourceId} /> },
        { name: audit.address, value: entry.ipAddress && <Copyable text={entry.ipAddress} /> },
        { name: audit.agent, value: entry.userAgent },
      ]}
    />
    <h3 className="font-medium text-sm">{audit.metadata}</h3>
    {entry.metadata ? (
      <CodeBlock code={JSON.stringify(entry.metadata, null, 2)} label={audit.metadata} />
    ) : (
      <p className="text-muted text-sm">{audit.noMetadata}</p>
    )}
  </div>
)

/** The days are those of the viewer, and both are included. */
const rangeOf = ({ from, until }: AuditFilters) => ({
  ...(from && { created_after: new Date(`${from}T00:00:00`).toISOString() }),
  ...(until && { created_before: new Date(`${until}T23:59:59.999`).toISOString() }),
})

type Props = { filters: AuditFilters; openId: string; onOpen: (id: string) => void }

export const Entries = ({ filters, openId, onOpen }: Props) => {
  const { action, actor, type, resource } = filters
  const members = useMembers()
  const filtered = Object.values(filters).some(Boolean)
  const entries: Resource<Entry> = {
    key: ['audit'],
    title: audit.entries,
    titleOf: (entry) => entry.action,
    gone: audit.gone,
    load: (cursor) => {
      const query = {
        ...pageOf(cursor, 50),
        ...(action && { action }),
        ...(actor && { actor_user_id: actor }),
        ...(type && { resource_type: type }),
        ...(resource && { resource_id: resource }),
        ...rangeOf(filters),
      }
      return unwrap(api.GET('/api/internal/audit', { params: { query } }))
    },
    read: (id) => unwrap(api.GET('/api/internal/audit/entries/{id}', { params: { path: { id } } })),
    columns: columnsFor(new Map(members.map(({ user_id, name, email }) => [user_id, name || email]))),
  }
  return (
    <ResourceList
      resource={entries}
      filters={filters}
      open={openId}
      onOpen={onOpen}
      onClose={() => onOpen('')}
      empty={
        <EmptyState title={filtered ? audit.noMatch : audit.empty}>
          {filtered ? audit.noMatchHelp : audit.emptyHelp}
        </EmptyState>
      }
    >
      {(entry) => <EntryDetail entry={entry} />}
    </ResourceList>
  )
}
