import type { components } from '../../../api/schema.gen.ts'
import type { FieldGroup, Values } from '../../../parts/resource/form-fields.tsx'
import type { FormResource } from '../../../parts/resource/form-resource.ts'
import { routesOf } from '../../../parts/resource/form-routes.ts'
import { createdColumn, statusColumn } from '../../../parts/resource/row-status.tsx'
import { brands, senders } from '../../../strings/senders.ts'
import { optionsOf } from '../../../ui/select.tsx'

type Brand = components['schemas']['Brand']

const company: FieldGroup = {
  title: brands.company,
  fields: [
    { name: 'display_name', label: brands.displayName, help: brands.displayNameHelp, required: true },
    { name: 'legal_company_name', label: brands.legalName, required: true },
    {
      name: 'entity_type',
      label: brands.entityType,
      kind: 'select',
      options: optionsOf(brands.entityTypes),
      required: true,
    },
    { name: 'ein', label: brands.ein },
    { name: 'vertical', label: brands.vertical },
    { name: 'website', label: brands.website },
    { name: 'email', label: brands.email },
  ],
}

const address: FieldGroup = {
  title: brands.address,
  fields: [
    { name: 'street', label: brands.street },
    { name: 'city', label: brands.city },
    { name: 'state_region', label: brands.region },
    { name: 'postal_code', label: brands.postalCode },
    { name: 'country', label: brands.country, help: brands.countryHelp },
  ],
}

const contact: FieldGroup = {
  title: brands.contact,
  fields: [
    { name: 'contact_first_name', label: brands.firstName },
    { name: 'contact_last_name', label: brands.lastName },
    { name: 'contact_phone', label: brands.phone, help: brands.phoneHelp },
  ],
}

const listed: FieldGroup = {
  title: brands.listed,
  fields: [
    { name: 'stock_symbol', label: brands.symbol },
    { name: 'stock_exchange', label: brands.exchange },
  ],
}

const groupsFor = ({ entity_type: type }: Values): FieldGroup[] => [
  company,
  address,
  contact,
  ...(type === 'public_profit' ? [listed] : []),
]

export const brandKind: FormResource<Brand> = {
  name: 'brands',
  title: brands.brands,
  create: brands.newBrand,
  gate: 'requireDeveloperSession',
  liveOnly: true,
  titleOf: ({ display_name }) => display_name,
  columns: [
    { id: 'name', header: brands.displayName, cell: ({ display_name }) => display_name },
    {
      id: 'legal',
      header: brands.legalName,
      className: 'hidden md:table-cell',
      cell: ({ legal_company_name }) => legal_company_name,
    },
    statusColumn(),
    createdColumn(),
  ],
  facts: (row) => [
    { name: senders.registryStatus, value: row.provider_status },
    { name: senders.registryId, value: row.provider_id },
  ],
  ...routesOf<Brand>('/api/internal/brands', true),
  deleteHelp: brands.deleteBrand,
  useGroups: () => groupsFor,
  missingOf: ({ provider_missing_fields }) => provider_missing_fields ?? [],
  empty: { title: brands.emptyBrands, help: brands.emptyBrandsHelp },
}
