import { api, unwrap } from '../../../api/client.ts'
import type { components } from '../../../api/schema.gen.ts'
import { dlt, senders } from '../../../strings/senders.ts'
import type { ListPage } from '../../../ui/use-pages.ts'
import type { FieldGroup, FieldSpec } from '../form-fields.tsx'
import { optionsOf, useEntityOptions, useHeaderOptions } from '../options.ts'
import type { SenderKind } from '../sender-kind.ts'
import { createdColumn, statusColumn } from '../sender-status.tsx'

type Schemas = components['schemas']

const pageOf = (cursor: string | undefined) => ({ params: { query: { limit: '50', ...(cursor && { cursor }) } } })
const byId = (id: string) => ({ params: { query: { id } } })

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

export const entityKind: SenderKind<Schemas['DltEntity']> = {
  key: 'entities',
  title: dlt.entities,
  create: dlt.newEntity,
  gate: 'requireOwnerSession',
  labelOf: ({ legal_name }) => legal_name,
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
  load: async (cursor) =>
    (await unwrap(api.GET('/api/internal/dlt/entities', pageOf(cursor)))) as ListPage<Schemas['DltEntity']>,
  read: async (id) => (await unwrap(api.GET('/api/internal/dlt/entities', byId(id)))) as Schemas['DltEntity'],
  add: (body) => unwrap(api.POST('/api/internal/dlt/entities', { body: body as Schemas['CreateDltEntity'] })),
  remove: (id) => unwrap(api.DELETE('/api/internal/dlt/entities', byId(id))),
  deleteHelp: dlt.delete,
  useGroups: () => () => [entityGroup],
  empty: { title: dlt.emptyEntity, help: dlt.emptyEntityHelp },
}

export const headerKind: SenderKind<Schemas['DltHeader']> = {
  key: 'headers',
  title: dlt.headers,
  create: dlt.newHeader,
  gate: 'requireOwnerSession',
  labelOf: ({ header }) => header,
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
  load: async (cursor) =>
    (await unwrap(api.GET('/api/internal/dlt/headers', pageOf(cursor)))) as ListPage<Schemas['DltHeader']>,
  read: async (id) => (await unwrap(api.GET('/api/internal/dlt/headers', byId(id)))) as Schemas['DltHeader'],
  add: (body) => unwrap(api.POST('/api/internal/dlt/headers', { body: body as Schemas['CreateDltHeader'] })),
  remove: (id) => unwrap(api.DELETE('/api/internal/dlt/headers', byId(id))),
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

export const templateKind: SenderKind<Schemas['DltTemplate']> = {
  key: 'templates',
  title: dlt.templates,
  create: dlt.newTemplate,
  gate: 'requireOwnerSession',
  labelOf: ({ name }) => name,
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
  load: async (cursor) =>
    (await unwrap(api.GET('/api/internal/dlt/templates', pageOf(cursor)))) as ListPage<Schemas['DltTemplate']>,
  read: async (id) => (await unwrap(api.GET('/api/internal/dlt/templates', byId(id)))) as Schemas['DltTemplate'],
  add: (body) => unwrap(api.POST('/api/internal/dlt/templates', { body: body as Schemas['CreateDltTemplate'] })),
  remove: (id) => unwrap(api.DELETE('/api/internal/dlt/templates', byId(id))),
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
