import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { team } from '../../../strings/settings.ts'
import { Badge, StatusDot } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { toast, toastError } from '../../../ui/toasts.tsx'
import { usePages } from '../../../ui/use-pages.ts'

type Invitation =
  operations['getApiInternalTeamInvite']['responses'][200]['content']['application/json']['data'][number]

const InvitationActions = ({ invitation: { id, email } }: { invitation: Invitation }) => {
  const client = useQueryClient()
  const [asked, setAsked] = useState(false)
  const [busy, setBusy] = useState(false)
  const refresh = () => client.invalidateQueries({ queryKey: ['team'] })
  const resend = async () => {
    setBusy(true)
    try {
      await unwrap(api.PATCH('/api/internal/team/invite', { body: { id } }))
      toast(team.resent(email))
      await refresh()
    } catch (error) {
      toastError(error)
    }
    setBusy(false)
  }
  const revoke = async () => {
    await unwrap(api.DELETE('/api/internal/team/invite', { params: { query: { id } } }))
    toast(team.revoked(email))
    await refresh()
  }
  return (
    <div className="flex justify-end gap-1">
      <Button size="small" look="quiet" gate="requireOwnerSession" busy={busy} onClick={resend}>
        {team.resend}
      </Button>
      <Button size="small" look="quiet" gate="requireOwnerSession" onClick={() => setAsked(true)}>
        {team.revoke}
      </Button>
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        title={team.revokeTitle}
        action={team.revoke}
        onConfirm={revoke}
      >
        {team.revokeHelp(email)}
      </ConfirmDialog>
    </div>
  )
}

const columns: Column<Invitation>[] = [
  {
    id: 'email',
    header: team.email,
    cell: ({ email, sso_exempt }) => (
      <div className="flex flex-wrap items-center gap-x-1.5 py-1">
        <span className="truncate">{email}</span>
        {sso_exempt && <Badge>{team.ssoExempt}</Badge>}
      </div>
    ),
  },
  { id: 'role', header: team.role, className: 'w-28 capitalize', cell: ({ role }) => role },
  {
    id: 'status',
    header: team.status,
    className: 'hidden w-28 md:table-cell capitalize',
    cell: ({ status }) => <StatusDot tone={status === 'pending' ? 'info' : 'warn'}>{status}</StatusDot>,
  },
  {
    id: 'by',
    header: team.invitedBy,
    className: 'hidden w-40 lg:table-cell',
    cell: ({ invited_by }) => invited_by?.name ?? '–',
  },
  {
    id: 'expires',
    header: team.expires,
    className: 'hidden w-28 md:table-cell',
    cell: ({ expires_at }) => <RelativeTime at={expires_at} />,
  },
  {
    id: 'actions',
    header: <span className="sr-only">{team.actions}</span>,
    className: 'w-44',
    align: 'right',
    cell: (invitation) => <InvitationActions invitation={invitation} />,
  },
]

export const Invitations = () => {
  const { rows, error, more } = usePages(['team', 'invitations'], (cursor) =>
    unwrap(api.GET('/api/internal/team/invite', { params: { query: { limit: '50', ...(cursor && { cursor }) } } })),
  )
  return (
    <>
      <ErrorNote error={error} />
      <Table
        label={team.invitations}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        more={more}
        empty={<EmptyState title={team.invitations}>{team.noInvitations}</EmptyState>}
      />
    </>
  )
}
