import type { components } from '../../../api/schema.gen.ts'
import type { FieldGroup } from '../../../parts/resource/form-fields.tsx'
import type { FormResource } from '../../../parts/resource/form-resource.ts'
import { routesById, routesOf } from '../../../parts/resource/form-routes.ts'
import { createdColumn } from '../../../parts/resource/row-status.tsx'
import { pools, senders } from '../../../strings/senders.ts'
import { useNumberOptions } from '../options.ts'

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

const routes = routesById<Pool>('/api/internal/pools')

export const poolKind: FormResource<Pool> = {
  name: 'pools',
  title: pools.title,
  create: pools.create,
  gate: 'requireDeveloperSession',
  titleOf: ({ name }) => name,
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
  ...routes,
  // The other routes of pools name one in the path.
  read: routesOf<Pool>('/api/internal/pools').read,
  add: (body) => routes.add({ phone_number_ids: [], ...body }),
  deleteHelp: pools.delete,
  useGroups,
  empty: { title: pools.empty, help: pools.emptyHelp },
}
