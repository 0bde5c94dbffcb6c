import { useNavigate } from '@tanstack/react-router'
import { FileText } from 'lucide-react'
import { type Template, useTemplates } from '../../../parts/template-data.ts'
import { templates } from '../../../strings/templates.ts'
import { Button } from '../../../ui/button.tsx'
import { curl } from '../../../ui/curl.ts'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ListTable } from '../../../ui/list-table.tsx'
import { optionsOf, Select } from '../../../ui/select.tsx'
import type { Column } from '../../../ui/table.tsx'
import { FilterBar, Page } from '../../../ui/templates.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { CreateTemplate } from './create-template.tsx'

const columns: Column<Template>[] = [
  {
    id: 'slug',
    header: templates.slug,
    cell: ({ slug }) => <span className="block max-w-40 truncate font-medium sm:max-w-72">{slug}</span>,
  },
  {
    id: 'channel',
    header: templates.channel,
    className: 'w-24',
    cell: ({ channel }) => <span className="text-muted">{templates.channels[channel]}</span>,
  },
  {
    id: 'subject',
    header: templates.subjectOrText,
    className: 'hidden md:table-cell',
    cell: ({ subject, text }) => (subject ?? text ?? '–').slice(0, 200),
  },
  {
    id: 'tenant',
    header: templates.tenant,
    className: 'hidden font-mono text-xs lg:table-cell',
    cell: ({ tenant_id }) => tenant_id ?? '–',
  },
  timeColumn('updated_at', templates.updated, { className: 'w-32', align: 'right' }),
]

const sample = curl('POST', '/templates', { slug: 'welcome', channel: 'email', ...templates.starters.email })

type EmptyProps = { filtered: boolean; onClear: () => void; action: React.ReactNode }

const Empty = ({ filtered, onClear, action }: EmptyProps) =>
  filtered ? (
    <EmptyState title={templates.noMatch} action={<Button onClick={onClear}>{templates.clear}</Button>}>
      {templates.help}
    </EmptyState>
  ) : (
    <EmptyState icon={<FileText className="size-6" />} title={templates.empty} action={action} curl={sample}>
      {templates.emptyHelp}
    </EmptyState>
  )

const TemplatesPage = () => {
  const navigate = useNavigate()
  const [{ channel, create }, change] = useFilters({ channel: '', create: '' })
  const list = useTemplates(channel)
  const button = (
    <Button look="primary" gate="requireDeveloperSession" onClick={() => change({ create: '1' })}>
      {templates.create}
    </Button>
  )
  const isNew = list.rows?.length === 0 && channel === ''
  return (
    <Page title={templates.title} description={templates.help} actions={isNew ? undefined : button}>
      {!isNew && (
        <FilterBar>
          <Select
            aria-label={templates.channel}
            value={channel}
            onValue={(value) => change({ channel: value })}
            options={[{ value: '', label: templates.everyChannel }, ...optionsOf(templates.channels)]}
          />
        </FilterBar>
      )}
      <ListTable
        label={templates.title}
        list={list}
        columns={columns}
        onOpen={({ id }) => void navigate({ to: `/templates/${id}` })}
        empty={<Empty filtered={channel !== ''} onClear={() => change({ channel: '' })} action={button} />}
      />
      <CreateTemplate open={create === '1'} onClose={() => change({ create: '' })} />
    </Page>
  )
}

export default TemplatesPage
