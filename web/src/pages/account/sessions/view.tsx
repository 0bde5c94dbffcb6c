import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { sessions } from '../../../strings/account.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmButton } from '../../../ui/confirm-dialog.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { Page } from '../../../ui/templates.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { toastError } from '../../../ui/toasts.tsx'
import { useSave } from '../../../ui/use-save.ts'

type Session = operations['getApiInternalSessions']['responses'][200]['content']['application/json']['data'][number]

const revoke = (id: string) => unwrap(api.DELETE('/api/internal/sessions', { params: { query: { id } } }))

const EndButton = ({ id }: { id: string }) => {
  const { save, busy } = useSave(() => revoke(id), {
    message: sessions.ended,
    refreshes: [['sessions']],
    failed: toastError,
  })
  return (
    <Button size="small" busy={busy} onClick={() => save()}>
      {sessions.end}
    </Button>
  )
}

const columns: Column<Session>[] = [
  {
    id: 'device',
    header: sessions.device,
    cell: ({ device, user_agent, current }) => (
      <span className="inline-flex items-center gap-2" title={user_agent}>
        <span className="truncate">{device}</span>
        {current && <Badge tone="info">{sessions.current}</Badge>}
      </span>
    ),
  },
  {
    id: 'address',
    header: sessions.address,
    className: 'hidden w-40 font-mono md:table-cell',
    cell: ({ ip_address }) => ip_address ?? '–',
  },
  {
    id: 'method',
    header: sessions.method,
    className: 'hidden w-36 capitalize lg:table-cell',
    cell: ({ method }) => sessions.methods[method] ?? method.replaceAll('_', ' '),
  },
  timeColumn('last_active_at', sessions.lastActive, { className: 'hidden w-28 sm:table-cell' }),
  timeColumn('expires_at', sessions.expires, { className: 'hidden w-28 md:table-cell', due: true }),
  {
    id: 'actions',
    header: <span className="sr-only">{sessions.actions}</span>,
    className: 'w-20',
    align: 'right',
    cell: ({ id, current }) => !current && <EndButton id={id} />,
  },
]

const SessionsPage = () => {
  const { data, error } = useQuery({
    queryKey: ['sessions'],
    queryFn: () => unwrap(api.GET('/api/internal/sessions')),
  })
  const endOthers = () => revoke('others')
  return (
    <Page
      title={sessions.title}
      description={sessions.help}
      actions={
        <ConfirmButton
          title={sessions.endOthersTitle}
          action={sessions.endOthers}
          onConfirm={endOthers}
          message={({ revoked }) => sessions.othersEnded(revoked)}
          refreshes={[['sessions']]}
        >
          {sessions.endOthersHelp}
        </ConfirmButton>
      }
    >
      <ErrorNote error={error} />
      <Table label={sessions.title} columns={columns} rows={data?.data} rowKey={({ id }) => id} />
    </Page>
  )
}

export default SessionsPage
