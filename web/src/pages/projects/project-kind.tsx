import type { components } from '../../api/schema.gen.ts'
import type { FieldGroup } from '../../parts/resource/form-fields.tsx'
import type { FormResource } from '../../parts/resource/form-resource.ts'
import { routesById } from '../../parts/resource/form-routes.ts'
import { projects } from '../../strings/projects.ts'
import { Badge } from '../../ui/badge.tsx'
import { curl } from '../../ui/curl.ts'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { timeColumn } from '../../ui/time-column.tsx'

type Project = components['schemas']['Project']

const group: FieldGroup = {
  title: projects.one,
  fields: [
    { name: 'name', label: projects.name, required: true },
    { name: 'slug', label: projects.slug, help: projects.slugHelp },
  ],
}

export const projectKind: FormResource<Project> = {
  name: 'projects',
  title: projects.title,
  create: projects.create,
  gate: 'requireOwnerSession',
  titleOf: ({ name }) => name,
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
    timeColumn('updated_at', projects.updated, { className: 'hidden w-32 sm:table-cell' }),
  ],
  facts: ({ slug, updated_at }) => [
    { name: projects.slug, value: slug },
    { name: projects.updated, value: <RelativeTime at={updated_at} /> },
  ],
  ...routesById<Project>('/api/internal/projects'),
  kept: ({ is_default }) => (is_default ? projects.keptDefault : undefined),
  deleteHelp: projects.delete,
  useGroups: () => () => [group],
  empty: { title: projects.empty, help: projects.emptyHelp, curl: curl('POST', '/projects', { name: 'Shop' }) },
}
