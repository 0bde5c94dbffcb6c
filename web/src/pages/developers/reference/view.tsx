import { ExternalLink } from 'lucide-react'
import { reference } from '../../../strings/reference.ts'
import { buttonClasses } from '../../../ui/button.tsx'
import { Drawer } from '../../../ui/drawer.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { SearchInput } from '../../../ui/search-input.tsx'
import { Select } from '../../../ui/select.tsx'
import { Bar, Loading } from '../../../ui/skeleton.tsx'
import { FilterBar, Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { hasWords, type OperationGroup, operationGroups, useApiDescription } from '../api-description.ts'
import { OperationDetail } from './operation-detail.tsx'
import { OperationList } from './operation-list.tsx'

const ReferenceSkeleton = () => (
  <Loading className="flex flex-col gap-4">
    <Bar className="h-6 w-40" />
    <Bar className="h-64 w-full" />
  </Loading>
)

const found = (groups: readonly OperationGroup[], typed: string, chosen: string): OperationGroup[] =>
  groups
    .filter(({ name }) => chosen === '' || name === chosen)
    .map((group) => ({
      ...group,
      operations: group.operations.filter(({ id, method, path, summary }) =>
        hasWords(`${group.name} ${id} ${method} ${path} ${summary}`, typed),
      ),
    }))
    .filter(({ operations }) => operations.length > 0)

const ReferencePage = () => {
  const [{ q, group, open }, change] = useFilters({ q: '', group: '', open: '' })
  const { data, error } = useApiDescription()
  const groups = data && operationGroups(data)
  const shown = groups && found(groups, q, group)
  const opened = groups?.flatMap(({ operations }) => operations).find(({ id }) => id === open)
  return (
    <Page
      title={reference.title}
      description={reference.about}
      actions={
        <a href="/docs" target="_blank" rel="noreferrer" className={buttonClasses()}>
          <ExternalLink aria-hidden className="size-4" />
          {reference.open}
        </a>
      }
    >
      <FilterBar>
        <SearchInput label={reference.search} value={q} onValue={(now) => change({ q: now })} />
        <Select
          aria-label={reference.group}
          value={group}
          onValue={(now) => change({ group: now })}
          options={[
            { value: '', label: reference.every },
            ...(groups ?? []).map(({ name }) => ({ value: name, label: name })),
          ]}
        />
      </FilterBar>
      <ErrorNote error={error} />
      {!shown && !error && <ReferenceSkeleton />}
      {shown?.length === 0 && <EmptyState title={reference.none}>{reference.noneHelp}</EmptyState>}
      {shown?.map((each) => (
        <OperationList key={each.name} group={each} openId={open} onOpen={(id) => change({ open: id })} />
      ))}
      <Drawer open={open !== ''} onClose={() => change({ open: '' })} title={opened?.summary ?? reference.title}>
        {opened && <OperationDetail key={opened.id} operation={opened} />}
        {groups && !opened && <p className="text-muted text-sm">{reference.gone}</p>}
      </Drawer>
    </Page>
  )
}

export default ReferencePage
