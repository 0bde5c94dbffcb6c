import type { operations } from '../../../api/schema.gen.ts'
import { exportsPage } from '../../../strings/data.ts'
import { StatusDot, type Tone } from '../../../ui/badge.tsx'
import { buttonClasses } from '../../../ui/button.tsx'
import type { Column } from '../../../ui/table.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'

type Job = operations['getApiInternalOrgExportJobs']['responses'][200]['content']['application/json']['data'][number]

const tones: Record<Job['status'], Tone> = {
  queued: 'neutral',
  running: 'info',
  completed: 'ok',
  failed: 'bad',
  expired: 'neutral',
}

const count = new Intl.NumberFormat('en')

export const fileSize = (bytes: number): string => {
  if (bytes < 1_000) return `${bytes} B`
  const [unit, size] = bytes < 1_000_000 ? ['kB', 1_000] : bytes < 1_000_000_000 ? ['MB', 1e6] : ['GB', 1e9]
  return `${(bytes / Number(size)).toFixed(1)} ${unit}`
}

const Progress = ({ job: { progress, status } }: { job: Job }) => (
  <span className="inline-flex items-center gap-2">
    <progress aria-label={exportsPage.progress} max={100} value={progress} className="h-1.5 w-20 accent-accent-solid" />
    <span className="text-muted text-xs tabular-nums">{status === 'failed' ? '–' : `${progress} %`}</span>
  </span>
)

export const columns: Column<Job>[] = [
  timeColumn('created_at', exportsPage.created),
  {
    id: 'status',
    header: exportsPage.status,
    cell: ({ status, error }) => (
      <span title={error ?? undefined}>
        <StatusDot tone={tones[status]}>{exportsPage.states[status]}</StatusDot>
        {error && <span className="ml-2 text-muted text-xs">{error}</span>}
      </span>
    ),
  },
  {
    id: 'progress',
    header: exportsPage.progress,
    className: 'hidden md:table-cell',
    cell: (job) => <Progress job={job} />,
  },
  {
    id: 'rows',
    header: exportsPage.rows,
    align: 'right',
    className: 'hidden md:table-cell',
    cell: ({ rows }) => count.format(rows),
  },
  {
    id: 'size',
    header: exportsPage.size,
    align: 'right',
    className: 'hidden sm:table-cell',
    cell: ({ size_bytes }) => fileSize(size_bytes),
  },
  timeColumn('expires_at', exportsPage.expires, { className: 'hidden md:table-cell', due: true }),
  {
    id: 'file',
    header: exportsPage.file,
    align: 'right',
    cell: ({ id, download_url }) =>
      download_url === null ? (
        '–'
      ) : (
        <a
          href={download_url}
          download
          aria-label={exportsPage.downloadLabel(id)}
          className={buttonClasses('secondary', 'small')}
        >
          {exportsPage.download}
        </a>
      ),
  },
]
