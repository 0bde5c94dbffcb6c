import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { ui } from '../strings/ui.ts'
import { SearchInput } from './search-input.tsx'
import { Select } from './select.tsx'

type Props = { value: string; onValue: (id: string) => void }

export const useTenantChoices = () => {
  const { data } = useQuery({
    queryKey: ['tenants', 'filter'],
    queryFn: () => unwrap(api.GET('/api/internal/tenants', { params: { query: { limit: '100' } } })),
    staleTime: 60_000,
  })
  return data
}

/** A list of tenants to choose from. An org with more tenants than a list can show types an id; one without any sees nothing. */
export const TenantFilter = ({ value, onValue }: Props) => {
  const data = useTenantChoices()
  if (!data || (data.data.length === 0 && value === '')) return null
  if (data.has_more) return <SearchInput label={ui.tenantId} value={value} onValue={onValue} />
  const known = data.data.map(({ id, name }) => ({ value: id, label: name }))
  const unknown = value !== '' && !known.some((one) => one.value === value) ? [{ value, label: value }] : []
  return (
    <Select
      aria-label={ui.tenant}
      value={value}
      onValue={onValue}
      options={[{ value: '', label: ui.everyTenant }, ...known, ...unknown]}
    />
  )
}
