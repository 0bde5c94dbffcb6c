import { Send } from 'lucide-react'
import { useMode } from '../../../api/mode.ts'
import { jobs } from '../../../strings/jobs.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { curl } from '../../../ui/curl.ts'
import { Drawer } from '../../../ui/drawer.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ListTable } from '../../../ui/list-table.tsx'
import type { Column } from '../../../ui/table.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { doneIn, type Job, jobTones, useJobs } from './job-data.ts'
import { JobDetail } from './job-detail.tsx'

const columns: Column<Job>[] = [
  {
    id: 'template',
    header: jobs.columns.template,
    cell: ({ template }) => <span className="block max-w-36 truncate font-medium sm:max-w-72">{template}</span>,
  },
  {
    id: 'status',
    header: jobs.columns.status,
    cell: ({ status }) => <StatusDot tone={jobTones[status]}>{jobs.statuses[status]}</StatusDot>,
  },
  {
    id: 'progress',
    header: jobs.columns.progress,
    className: 'hidden sm:table-cell',
    align: 'right',
    cell: (job) => jobs.progressOf(doneIn(job), job.scheduled),
  },
  {
    id: 'channel',
    header: jobs.columns.channel,
    className: 'hidden lg:table-cell',
    cell: ({ channel }) => <span className="text-muted">{jobs.channels[channel]}</span>,
  },
  timeColumn('created_at', jobs.columns.created, { align: 'right' }),
]

const sample = { channel: 'email', from: 'hello@example.com', template: 'welcome' }

export const JobList = () => {
  const mode = useMode()
  const [{ open, tab }, change] = useFilters({ open: '', tab: '' })
  const list = useJobs(mode)
  return (
    <div className="flex flex-col gap-4">
      <ListTable
        label={jobs.title}
        list={list}
        columns={columns}
        onOpen={({ id }) => change({ open: id, tab: '' })}
        openKey={open}
        empty={
          <EmptyState
            icon={<Send className="size-6" />}
            title={jobs.empty(mode)}
            curl={curl('POST', '/audiences/{id}/send', sample)}
          >
            {jobs.emptyHelp}
          </EmptyState>
        }
      />
      <Drawer open={open !== ''} onClose={() => change({ open: '', tab: '' })} title={jobs.detail}>
        {open && <JobDetail key={open} id={open} tab={tab} onTab={(now) => change({ tab: now })} />}
      </Drawer>
    </div>
  )
}
