import type { components } from '../../../api/schema.gen.ts'
import type { FieldGroup, FieldSpec } from '../../../parts/resource/form-fields.tsx'
import type { FormResource } from '../../../parts/resource/form-resource.ts'
import { routesOf } from '../../../parts/resource/form-routes.ts'
import { createdColumn, statusColumn } from '../../../parts/resource/row-status.tsx'
import { dlt, senders } from '../../../strings/senders.ts'
import { optionsOf } from '../../../ui/select.tsx'
import { useEntityOptions, useHeaderOptions } from '../options.ts'

type Schemas = components['schemas']

/** What is registered in India is not changed. */
const routesFor = <Row>(path: Parameters<typeof routesOf>[0]) => {
  const { load, read, add, remove } = routesOf<Row>(path)
  return { load, read, add, remove }
}

const category: FieldSpec = {
  name: 'category',
  label: dlt.category,
  kind: 'select',
  options: optionsOf(dlt.categories),
  required: true,
}

const entityGroup: FieldGroup = {
  title: dlt.entity,
  fields: [
    { name: 'legal_name', label: dlt.legalName, required: true },
    { name: 'entity_id', label: dlt.entityId, help: dlt.entityIdHelp, required: true },
  ],
}

export const entityKind: FormResource<Schemas['DltEntity']> = {
  name: 'entities',
  title: dlt.entities,
  create: dlt.newEntity,
  gate: 'requireOwnerSession',
  titleOf: ({ legal_name }) => legal_name,
  columns: [
    { id: 'name', header: dlt.legalName, cell: ({ legal_name }) => legal_name },
    {
      id: 'entity',
      header: dlt.entityId,
      className: 'hidden font-mono sm:table-cell',
      cell: ({ entity_id }) => entity_id,
    },
    statusColumn(),
    createdColumn(),
  ],
  facts: ({ entity_id }) => [{ name: dlt.entityId, value: entity_id }],
  ...routesFor<Schemas['DltEntity']>('/api/internal/dlt/entities'),
  deleteHelp: dlt.delete,
  useGroups: () => () => [entityGroup],
  empty: { title: dlt.emptyEntity, help: dlt.emptyEntityHelp },
}

export const headerKind: FormResource<Schemas['DltHeader']> = {
  name: 'headers',
  title: dlt.headers,
  create: dlt.newHeader,
  gate: 'requireOwnerSession',
  titleOf: ({ header }) => header,
  columns: [
    { id: 'header', header: dlt.header, className: 'font-mono', cell: ({ header }) => header },
    {
      id: 'category',
      header: dlt.category,
      className: 'hidden sm:table-cell',
      cell: (row) => dlt.categories[row.category],
    },
    statusColumn(),
    createdColumn(),
  ],
  facts: (row) => [
    { name: dlt.category, value: dlt.categories[row.category] },
    { name: dlt.entity, value: row.entity },
  ],
  ...routesFor<Schemas['DltHeader']>('/api/internal/dlt/headers'),
  deleteHelp: dlt.delete,
  useGroups: () => {
    const options = useEntityOptions()
    return () => [
      {
        title: dlt.header,
        fields: [
          { name: 'entity', label: dlt.entity, kind: 'select', options, required: true },
          { name: 'header', label: dlt.header, help: dlt.headerHelp, required: true },
          category,
        ],
      },
    ]
  },
  empty: { title: dlt.emptyHeader, help: dlt.emptyHeaderHelp },
}

export const templateKind: FormResource<Schemas['DltTemplate']> = {
  name: 'templates',
  title: dlt.templates,
  create: dlt.newTemplate,
  gate: 'requireOwnerSession',
  titleOf: ({ name }) => name,
  columns: [
    { id: 'name', header: senders.name, cell: ({ name }) => name },
    { id: 'text', header: dlt.content, className: 'hidden md:table-cell', cell: ({ content }) => content },
    statusColumn(),
    createdColumn(),
  ],
  facts: (row) => [
    { name: dlt.category, value: dlt.categories[row.category] },
    { name: dlt.content, value: row.content },
    { name: dlt.entityId, value: row.entity_id },
    { name: dlt.providerId, value: row.provider_template_id },
  ],
  ...routesFor<Schemas['DltTemplate']>('/api/internal/dlt/templates'),
  deleteHelp: dlt.delete,
  useGroups: () => {
    const entities = useEntityOptions()
    const headers = useHeaderOptions()
    return () => [
      {
        title: dlt.templates,
        fields: [
          { name: 'entity', label: dlt.entity, kind: 'select', options: entities, required: true },
          { name: 'header', label: dlt.header, kind: 'select', options: headers, required: true },
          { name: 'name', label: senders.name, required: true },
          category,
          { name: 'content', label: dlt.content, help: dlt.contentHelp, kind: 'area', required: true },
        ],
      },
    ]
  },
  empty: { title: dlt.emptyTemplate, help: dlt.emptyTemplateHelp },
}
