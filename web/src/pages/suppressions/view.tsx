import { useQueryClient } from '@tanstack/react-query'
import { Ban } from 'lucide-react'
import { suppressions } from '../../strings/suppressions.ts'
import { Button } from '../../ui/button.tsx'
import { curl } from '../../ui/curl.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ListTable } from '../../ui/list-table.tsx'
import { SearchInput } from '../../ui/search-input.tsx'
import { optionsOf, Select } from '../../ui/select.tsx'
import { FilterBar, Page } from '../../ui/templates.tsx'
import { TenantFilter } from '../../ui/tenant-filter.tsx'
import { toast, toastError } from '../../ui/toasts.tsx'
import { useFilters } from '../../ui/use-filters.ts'
import { AddSuppression } from './add-suppression.tsx'
import { suppressionColumns } from './suppression-columns.tsx'
import {
  addSuppression,
  type ListedSuppression,
  noSuppressionFilters,
  removeSuppression,
  type SuppressionFilters,
  useSuppressions,
} from './suppression-data.ts'

type FilterProps = { filters: SuppressionFilters; onChange: (change: Partial<SuppressionFilters>) => void }

const Filters = ({ filters, onChange }: FilterProps) => (
  <FilterBar>
    <SearchInput label={suppressions.search} value={filters.q} onValue={(q) => onChange({ q })} />
    <Select
      aria-label={suppressions.channel}
      value={filters.channel}
      onValue={(channel) => onChange({ channel })}
      options={[{ value: '', label: suppressions.everyChannel }, ...optionsOf(suppressions.channels)]}
    />
    <Select
      aria-label={suppressions.reason}
      value={filters.reason}
      onValue={(reason) => onChange({ reason })}
      options={[{ value: '', label: suppressions.everyReason }, ...optionsOf(suppressions.reasons)]}
    />
    <TenantFilter value={filters.tenant} onValue={(tenant) => onChange({ tenant })} />
  </FilterBar>
)

const Empty = ({ filtered, onClear }: { filtered: boolean; onClear: () => void }) =>
  filtered ? (
    <EmptyState title={suppressions.noMatch} action={<Button onClick={onClear}>{suppressions.clear}</Button>}>
      {suppressions.noMatchHelp}
    </EmptyState>
  ) : (
    <EmptyState
      icon={<Ban aria-hidden className="size-8" />}
      title={suppressions.emptyTitle}
      curl={curl('POST', '/suppressions', { channel: 'email', value: 'ada@example.com' })}
    >
      {suppressions.empty}
    </EmptyState>
  )

/** Removes at once. Undo adds it by hand: the service does not let anybody invent a bounce or an opt-out. */
const useRemove = () => {
  const client = useQueryClient()
  const refresh = () => client.invalidateQueries({ queryKey: ['suppressions'] })
  const restore = async ({ value, tenant_id }: ListedSuppression) => {
    try {
      await addSuppression(value, tenant_id)
      toast(suppressions.restored(value), { description: suppressions.restoredHelp })
      await refresh()
    } catch (error) {
      toastError(error)
    }
  }
  return async (row: ListedSuppression) => {
    try {
      await removeSuppression(row.id)
      toast(suppressions.removed(row.value), { undo: () => void restore(row) })
      await refresh()
    } catch (error) {
      toastError(error)
    }
  }
}

const SuppressionsPage = () => {
  const [{ create, ...filters }, change] = useFilters({ ...noSuppressionFilters, create: '' })
  const list = useSuppressions(filters)
  const remove = useRemove()
  return (
    <Page
      title={suppressions.title}
      description={suppressions.description}
      actions={
        <Button look="primary" gate="requireDeveloperSession" onClick={() => change({ create: '1' })}>
          {suppressions.add}
        </Button>
      }
    >
      <Filters filters={filters} onChange={change} />
      <ListTable
        label={suppressions.title}
        list={list}
        columns={suppressionColumns((row) => void remove(row))}
        empty={<Empty filtered={Object.values(filters).some(Boolean)} onClear={() => change(noSuppressionFilters)} />}
      />
      <AddSuppression open={create !== ''} onClose={() => change({ create: '' })} />
    </Page>
  )
}

export default SuppressionsPage
