import { api, unwrap } from '../../../api/client.ts'
import type { components } from '../../../api/schema.gen.ts'
import { pools, senders } from '../../../strings/senders.ts'
import type { ListPage } from '../../../ui/use-pages.ts'
import type { FieldGroup } from '../form-fields.tsx'
import { useNumberOptions } from '../options.ts'
import type { SenderKind } from '../sender-kind.ts'
import { createdColumn } from '../sender-status.tsx'

type Pool = components['schemas']['Pool']

const useGroups = () => {
  const options = useNumberOptions()
  const group: FieldGroup = {
    title: pools.title,
    fields: [
      { name: 'name', label: senders.name, required: true },
      { name: 'slug', label: pools.slug, help: pools.slugHelp, required: true, fixed: true },
      { name: 'phone_number_ids', label: pools.numbers, help: pools.noNumbers, kind: 'many', options, required: true },
    ],
  }
  return () => [group]
}

const path = '/api/internal/pools' as const

export const poolKind: SenderKind<Pool> = {
  key: 'pools',
  title: pools.title,
  create: pools.create,
  gate: 'requireDeveloperSession',
  labelOf: ({ name }) => name,
  columns: [
    { id: 'name', header: senders.name, cell: ({ name }) => name },
    { id: 'slug', header: pools.slug, className: 'hidden font-mono sm:table-cell', cell: ({ slug }) => slug },
    {
      id: 'count',
      header: pools.count,
      className: 'w-24',
      align: 'right',
      cell: ({ phone_number_ids }) => phone_number_ids.length,
    },
    createdColumn(),
  ],
  facts: (row) => [
    { name: pools.slug, value: row.slug },
    { name: pools.count, value: row.phone_number_ids.length },
  ],
  load: async (cursor) => {
    const query = { limit: '50', ...(cursor && { cursor }) }
    return (await unwrap(api.GET(path, { params: { query } }))) as ListPage<Pool>
  },
  read: async (id) => (await unwrap(api.GET(path, { params: { query: { id } } }))) as Pool,
  add: (body) => unwrap(api.POST(path, { body: { phone_number_ids: [], ...body } as never })),
  change: (id, body) => unwrap(api.PATCH(`${path}/{id}`, { params: { path: { id } }, body })),
  remove: (id) => unwrap(api.DELETE(`${path}/{id}`, { params: { path: { id } } })),
  deleteHelp: pools.delete,
  useGroups,
  empty: { title: pools.empty, help: pools.emptyHelp },
}
