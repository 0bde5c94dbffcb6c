import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { sessions } from '../../../strings/account.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { Page } from '../../../ui/templates.tsx'
import { toast, toastError } from '../../../ui/toasts.tsx'

type Session = operations['getApiInternalSessions']['responses'][200]['content']['application/json']['data'][number]

const revoke = (id: string) => unwrap(api.DELETE('/api/internal/sessions', { params: { query: { id } } }))

const EndButton = ({ id }: { id: string }) => {
  const client = useQueryClient()
  const [busy, setBusy] = useState(false)
  const end = async () => {
    setBusy(true)
    try {
      await revoke(id)
      toast(sessions.ended)
      await client.invalidateQueries({ queryKey: ['sessions'] })
    } catch (error) {
      toastError(error)
    }
    setBusy(false)
  }
  return (
    <Button size="small" busy={busy} onClick={end}>
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
  {
    id: 'active',
    header: sessions.lastActive,
    className: 'hidden w-28 sm:table-cell',
    cell: ({ last_active_at }) => <RelativeTime at={last_active_at} />,
  },
  {
    id: 'expires',
    header: sessions.expires,
    className: 'hidden w-28 md:table-cell',
    cell: ({ expires_at }) => <RelativeTime at={expires_at} />,
  },
  {
    id: 'actions',
    header: <span className="sr-only">{sessions.actions}</span>,
    className: 'w-20',
    align: 'right',
    cell: ({ id, current }) => !current && <EndButton id={id} />,
  },
]

const SessionsPage = () => {
  const client = useQueryClient()
  const [asked, setAsked] = useState(false)
  const { data, error } = useQuery({
    queryKey: ['sessions'],
    queryFn: () => unwrap(api.GET('/api/internal/sessions')),
  })
  const endOthers = async () => {
    const { revoked } = await revoke('others')
    toast(sessions.othersEnded(revoked))
    await client.invalidateQueries({ queryKey: ['sessions'] })
  }
  return (
    <Page
      title={sessions.title}
      description={sessions.help}
      actions={<Button onClick={() => setAsked(true)}>{sessions.endOthers}</Button>}
    >
      <ErrorNote error={error} />
      <Table label={sessions.title} columns={columns} rows={data?.data} rowKey={({ id }) => id} />
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        title={sessions.endOthersTitle}
        action={sessions.endOthers}
        onConfirm={endOthers}
      >
        {sessions.endOthersHelp}
      </ConfirmDialog>
    </Page>
  )
}

export default SessionsPage
