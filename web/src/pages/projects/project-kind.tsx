import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.gen.ts'
import { projects } from '../../strings/projects.ts'
import { Badge } from '../../ui/badge.tsx'
import { curl } from '../../ui/curl.ts'
import { RelativeTime } from '../../ui/relative-time.tsx'
import type { FieldGroup } from '../senders/form-fields.tsx'
import type { SenderKind } from '../senders/sender-kind.ts'

type Project = components['schemas']['Project']

const group: FieldGroup = {
  title: projects.one,
  fields: [
    { name: 'name', label: projects.name, required: true },
    { name: 'slug', label: projects.slug, help: projects.slugHelp },
  ],
}

const path = '/api/internal/projects' as const

export const projectKind: SenderKind<Project> = {
  key: 'projects',
  title: projects.title,
  create: projects.create,
  gate: 'requireOwnerSession',
  labelOf: ({ name }) => name,
  columns: [
    {
      id: 'name',
      header: projects.name,
      cell: ({ name, is_default }) => (
        <span className="flex items-center gap-2">
          <span className="truncate font-medium">{name}</span>
          {is_default && <Badge>{projects.default}</Badge>}
        </span>
      ),
    },
    { id: 'slug', header: projects.slug, className: 'font-mono', cell: ({ slug }) => slug },
    {
      id: 'updated',
      header: projects.updated,
      className: 'hidden w-32 sm:table-cell',
      cell: ({ updated_at }) => <RelativeTime at={updated_at} />,
    },
  ],
  facts: ({ slug, updated_at }) => [
    { name: projects.slug, value: slug },
    { name: projects.updated, value: <RelativeTime at={updated_at} /> },
  ],
  load: (cursor) => unwrap(api.GET(path, { params: { query: { limit: '50', ...(cursor && { cursor }) } } })),
  read: (id) => unwrap(api.GET(`${path}/{id}`, { params: { path: { id } } })),
  add: (body) => unwrap(api.POST(path, { body: body as never })),
  change: (id, body) => unwrap(api.PATCH(`${path}/{id}`, { params: { path: { id } }, body })),
  remove: (id) => unwrap(api.DELETE(`${path}/{id}`, { params: { path: { id } } })),
  kept: ({ is_default }) => (is_default ? projects.keptDefault : undefined),
  deleteHelp: projects.delete,
  useGroups: () => () => [group],
  empty: { title: projects.empty, help: projects.emptyHelp, curl: curl('POST', '/projects', { name: 'Shop' }) },
}
