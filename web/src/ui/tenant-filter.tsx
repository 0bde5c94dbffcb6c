import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../api/client.ts'
import type { components } from '../api/schema.gen.ts'
import { ui } from '../strings/ui.ts'
import { readRows } from './every-row.ts'
import { SearchInput } from './search-input.tsx'
import { type Option, Select } from './select.tsx'

type Tenant = components['schemas']['Tenant']

/** As many as a list of choices shows. With more tenants, a search on the server chooses which. */
const shownTenants = 100

const useFoundTenants = (q: string) =>
  useQuery({
    queryKey: ['tenants', 'choices', q],
    queryFn: () =>
      readRows<Tenant>((cursor) => {
        const query = { limit: String(shownTenants), ...(q && { q }), ...(cursor && { cursor }) }
        return unwrap(api.GET('/api/internal/tenants', { params: { query } }))
      }, shownTenants),
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  }).data

export const useTenant = (id: string) =>
  useQuery({
    queryKey: ['tenants', 'one', id],
    queryFn: () => unwrap(api.GET('/api/internal/tenants/{id}', { params: { path: { id } } })),
    enabled: id.startsWith('ten_'),
  })

type Choices = { options: Option[]; search: { value: string; onValue: (q: string) => void } | undefined }

/** The tenants to choose from, and a search if there are too many. Undefined in an org without tenants. */
export const useTenantChoices = (
  value: string,
  usable: (tenant: Tenant) => boolean = () => true,
): Choices | undefined => {
  const [q, setQ] = useState('')
  const newest = useFoundTenants('')
  const found = useFoundTenants(q)
  // It may be among none of the choices.
  const { data: chosen } = useTenant(value)
  if (!newest || !found || (newest.rows.length === 0 && value === '')) return undefined
  const others = found.rows.filter((tenant) => tenant.id !== value && usable(tenant))
  const current = value === '' ? [] : [{ value, label: chosen?.name ?? value }]
  return {
    options: [...current, ...others.map(({ id, name }) => ({ value: id, label: name }))],
    search: newest.more ? { value: q, onValue: setQ } : undefined,
  }
}

type Props = { value: string; onValue: (id: string) => void }

export const TenantFilter = ({ value, onValue }: Props) => {
  const choices = useTenantChoices(value)
  if (!choices) return null
  return (
    <>
      {choices.search && <SearchInput label={ui.findTenant} {...choices.search} />}
      <Select
        aria-label={ui.tenant}
        value={value}
        onValue={onValue}
        options={[{ value: '', label: ui.everyTenant }, ...choices.options]}
      />
    </>
  )
}
